import { apiPages } from './api-pages.mjs'

/** @type {Partial<import('typedoc').TypeDocOptions & import('typedoc-plugin-markdown').PluginOptions>} */
export default {
  entryPoints: apiPages.map(({ source }) => source),
  tsconfig: 'tsconfig.api.json',
  plugin: ['typedoc-plugin-markdown'],
  out: '../docs/api',
  readme: 'none',
  entryFileName: 'index',
  outputFileStrategy: 'modules',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  githubPages: false,
  disableSources: true,
  useHTMLAnchors: true,
  excludeInternal: true,
  excludePrivate: true,
  // Shapes that a declaration is easier to read without, and a dialect, which is taken from `dialects` and passed on.
  intentionallyNotExported: [
    ...['Awaitable', 'Bound', 'Dialect', 'Nothing', 'SqlAcquisition', 'ValueOf'],
    // Parts of one type, and shapes of other packages' objects: nobody writes their names.
    ...[
      'AsciiText',
      'ConfiguredDuration',
      'Counter',
      'LockErrorOptions',
      'LockProviderOfClient',
      'LoggerLike',
    ],
    ...['CronLike', 'CronTimeClass', 'CronTimeLike', 'QueryRunnerLike', 'TransactionLike'],
    ...['Prisma8ScopeLike', 'RawClientLike', 'TransactionClientLike'],
  ],
  // An export without a docstring, and a link that leads nowhere, end the build.
  treatWarningsAsErrors: true,
  // Not each property: what `name` is needs no words. Those of options have them where there is a unit or a default.
  requiredToBeDocumented: ['Class', 'Interface', 'Function', 'TypeAlias', 'Variable', 'Method', 'Accessor'],
  validation: { notExported: true, invalidLink: true, notDocumented: true },
}
