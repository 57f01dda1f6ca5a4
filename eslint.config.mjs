import { existsSync } from 'node:fs'
import tseslint from 'typescript-eslint'

/** Folders whose files can be linted only with the packages of another folder; in CI all of these are installed. */
const NEEDED = {
  bench: 'bench',
  site: 'site',
  'test/processes/page': 'test/processes/page',
  'test/processes/terminal': 'test/processes/terminal',
  'examples/express': 'test/processes/examples',
  'examples/fastify': 'test/processes/examples',
  'examples/sql-clients': 'examples/sql-clients',
}
const notInstalled = Object.keys(NEEDED).filter((folder) => !existsSync(`${NEEDED[folder]}/node_modules`))

export default tseslint.config(
  {
    ignores: [
      ...['**/dist', 'coverage', '**/node_modules', '.programs-*', 'site/.vitepress/{cache,.temp}'],
      ...notInstalled,
      // The types of the package that they import are built.
      ...(existsSync('dist') ? [] : ['examples']),
      // These need generated Prisma clients, or are some.
      'test/documentation/taken-for-granted.ts',
      ...[
        'test/prisma/generated',
        'test/prisma/earlier/*/generated',
        'test/prisma/types',
        'examples/nestjs-prisma',
      ],
      // Compiled where they run, with the types of each version of a peer.
      ...[
        'test/processes/package/registry/fixtures',
        'test/processes/examples/described',
        'test/processes/examples/wrappers',
      ],
    ],
  },
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // To leave a key out of the rest of an object.
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
    },
  },
  {
    // The entity is a TypeORM EntitySchema by structure and by its mark, so that TypeORM is not imported.
    files: ['test/**', 'verification/**'],
    rules: {
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // A condition that is awaited stands in one line: `eventually(() => expect(…).toBe(…))`.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  { files: ['**/*.mjs', '**/*.js', '**/*.cjs'], extends: [tseslint.configs.disableTypeChecked] },
  { files: ['**/*.cjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
)
