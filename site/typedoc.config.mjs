import { readFileSync } from 'node:fs'

const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** @type {Partial<import('typedoc').TypeDocOptions & import('typedoc-plugin-markdown').PluginOptions>} */
export default {
  // What people import, as its declarations say: what is `@internal` has none.
  entryPoints: Object.values(exports).flatMap(({ require }) =>
    require ? [require.types.replace('./', '../')] : [],
  ),
  tsconfig: 'tsconfig.api.json',
  plugin: ['typedoc-plugin-markdown', './typedoc-order.mjs'],
  out: '../docs/api',
  readme: 'none',
  entryFileName: 'index',
  outputFileStrategy: 'members',
  navigationJson: '../docs/api/navigation.json',
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  propertyMembersFormat: 'table',
  typeDeclarationFormat: 'table',
  indexFormat: 'table',
  useCodeBlocks: true,
  groupOrder: ['Classes', 'Functions', 'Interfaces', 'Type Aliases', 'Variables'],
  hidePageHeader: true,
  hideBreadcrumbs: true,
  githubPages: false,
  disableSources: true,
  useHTMLAnchors: true,
  excludeInternal: true,
  excludePrivate: true,
  // Shapes that a declaration is easier to read without.
  intentionallyNotExported: [
    ...['Awaitable', 'Bound', 'Nothing', 'ValueOf'],
    // Parts of one type, and shapes of other packages' objects: nobody writes their names.
  ],
  // An export without a docstring, and a link that leads nowhere, end the build.
  treatWarningsAsErrors: true,
  // Not each property: what `name` is needs no words. Those of options have them where there is a unit or a default.
  requiredToBeDocumented: ['Class', 'Interface', 'Function', 'TypeAlias', 'Variable', 'Method', 'Accessor'],
  validation: { notExported: true, invalidLink: true, notDocumented: true },
}
