import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, type Dirent } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join, relative } from 'node:path'

interface Manifest {
  readonly name?: string
  readonly type?: unknown
  readonly packageManager?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly workspaces?: unknown
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  /** Where Prisma looked for its settings before version 7. */
  readonly prisma?: { readonly schema?: string }
}

/** A package that a project can load. */
interface Installed {
  readonly name: string
  readonly path: string
  load(): unknown
}

interface Prettier {
  resolveConfig(file: string, options?: { editorconfig: boolean }): Promise<object | null>
  format(text: string, options: object): string | Promise<string>
}

/** Folders without sources of the app. */
const NOT_SOURCES =
  /^(\..*|node_modules|dist|build|out|coverage|docs|generated|tests?|__tests__|fixtures|examples?|e2e)$/

/** The files that show a package manager. Projects with another one may have the last two. */
export const LOCKS = {
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
  'pnpm-workspace.yaml': 'pnpm',
  'package-lock.json': 'npm',
}

/** The user's project: the folder in which the command runs. */
export class Project {
  readonly manifest: Manifest
  /** The project whose workspace it is a member of. */
  readonly workspace: Project | undefined
  /** What its own package.json names, with the versions. */
  readonly declared: Readonly<Record<string, string>>
  #files: readonly string[] | undefined
  readonly #texts = new Map<string, string>()

  constructor(readonly root = process.cwd()) {
    this.manifest = manifestIn(root) ?? {}
    const { peerDependencies, devDependencies, dependencies } = this.manifest
    this.declared = { ...peerDependencies, ...devDependencies, ...dependencies }
    const workspace = withParents(root).slice(1).find(isWorkspace)
    this.workspace = workspace === undefined ? undefined : new Project(workspace)
  }

  /** Whether its package.json names the package, or that of its workspace. */
  has(name: string): boolean {
    return this.declares(name) || this.workspace?.declares(name) === true
  }

  /** Whether its own package.json names the package. */
  declares(name: string): boolean {
    return name in this.declared
  }

  /** Its workspace, or without one itself. */
  get top(): Project {
    return this.workspace ?? this
  }

  /** Itself, and then all others of its workspace, or without one of its folder. */
  members(): readonly Project[] {
    const { top } = this
    const manifests = top.files('.json').filter((file) => file.endsWith('/package.json'))
    const folders = [top.root, ...manifests.map((file) => join(top.root, dirname(file)))]
    return [this, ...folders.filter((folder) => folder !== this.root).map((folder) => new Project(folder))]
  }

  /** The installed version of a package, or the one that package.json asks for; empty if neither is known. */
  version(name: string): string {
    const { version } = this.installed(name) ?? {}
    return (
      version ?? /\b\d+(\.\d+)*/.exec(this.declared[name] ?? this.workspace?.declared[name] ?? '')?.[0] ?? ''
    )
  }

  /** What an installed package needs of another one, such as `@4.3.3`; empty if it is not known. */
  versionFor(name: string, dependency: string): string {
    const wanted = this.installed(name)?.dependencies?.[dependency]
    return wanted === undefined ? '' : `@${wanted}`
  }

  /**
   * Finds the first of these packages that is installed for the project, or for one of its packages in `via`: with pnpm, a package
   * that only another one depends on cannot be found from the project itself.
   */
  find(packages: readonly string[], via: readonly string[] = []): Installed | undefined {
    const project = createRequire(join(this.root, 'package.json'))
    const pathOf = (from: NodeJS.Require, name: string) => attempt(() => from.resolve(name), undefined)
    const carriers = via.flatMap((name) => pathOf(project, name) ?? [])
    for (const from of [project, ...carriers.map((path) => createRequire(path))]) {
      for (const name of packages) {
        const path = pathOf(from, name)
        if (path !== undefined) return { name, path, load: () => from(path) as unknown }
      }
    }
    return undefined
  }

  /** The paths of its files with one of these extensions, relative to its folder. */
  files(...extensions: readonly string[]): readonly string[] {
    this.#files ??= filesIn(this.root).map((path) => this.short(path))
    return this.#files.filter((file) => extensions.includes(extname(file)))
  }

  /** The paths of the files of its workspace with one of these extensions; none without a workspace. */
  filesOfWorkspace(...extensions: readonly string[]): readonly string[] {
    const { workspace } = this
    return workspace?.files(...extensions).map((file) => this.short(join(workspace.root, file))) ?? []
  }

  /** JavaScript and TypeScript, without declarations and tests; only those that contain what an expression matches. */
  sources(having?: RegExp): readonly string[] {
    const files = this.files('.ts', '.mts', '.cts', '.js', '.mjs', '.cjs')
    const sources = files.filter((file) => !/\.(d|spec|test)\.(config\.)?\w+$/.test(file))
    return having ? sources.filter((file) => having.test(this.read(file))) : sources
  }

  /** Whether it is written in TypeScript, not only its settings; without sources, whether it has the compiler. */
  isTypeScript(): boolean {
    const sources = this.sources().filter((file) => !/\.config\.\w+$/.test(file))
    return sources.length === 0 ? this.has('typescript') : sources.some((file) => file.endsWith('ts'))
  }

  /** The text of a file as it was at the first call; empty if it may not be read. */
  read(file: string): string {
    const text = this.#texts.get(file) ?? attempt(() => readFileSync(join(this.root, file), 'utf8'), '')
    this.#texts.set(file, text)
    return text
  }

  /** The scripts of package.json whose text matches: the text, and what the first group matches. */
  scripts(expression: RegExp): readonly { text: string; found: string }[] {
    return Object.values(this.manifest.scripts ?? {}).flatMap((text) => {
      const match = expression.exec(text)
      return match ? [{ text, found: match[1] ?? '' }] : []
    })
  }

  /** Whether git leaves the file alone, as it does with what is generated. */
  ignores(file: string): boolean {
    return spawnSync('git', ['check-ignore', '--quiet', file], { cwd: this.root }).status === 0
  }

  exists(file: string): boolean {
    return existsSync(join(this.root, file))
  }

  /** A path relative to its folder. */
  short(path: string): string {
    return relative(this.root, path).replaceAll('\\', '/') || '.'
  }

  /** The package manager that the next folder shows, up to its workspace; npm if none does, because its own file is often left over. */
  manager(): string {
    const { root: top } = this.top
    const folders = withParents(this.root).filter((folder) => `${folder}/`.startsWith(`${top}/`))
    const found = folders.flatMap((folder) => {
      const [, lock] = Object.entries(LOCKS).find(([file]) => existsSync(join(folder, file))) ?? []
      return [manifestIn(folder)?.packageManager?.split('@')[0], lock]
    })
    return found.find((name = 'npm') => name !== 'npm') ?? 'npm'
  }

  /** The command that adds those of these packages that no package.json names, or that are there in another version; empty if there are none. */
  adds(...packages: readonly string[]): string {
    const missing = packages.filter((each) => {
      const [name = '', version] = each.split('@')
      return !this.has(name) || (EXACT.test(each) && this.version(name) !== version)
    })
    const manager = this.manager()
    // Without a flag, pnpm and the first Yarn do not add to the root of a workspace.
    const isFirst = this.manifest.workspaces !== undefined && this.read('yarn.lock').includes('lockfile v1')
    const isPnpm = manager === 'pnpm' && this.exists('pnpm-workspace.yaml')
    // A version that another package needs must stay as it is.
    const exact = missing.some((each) => EXACT.test(each)) ? ' -E' : ''
    const flag = isPnpm ? ' -w' : isFirst ? ' -W' : ''
    const command = `${manager === 'npm' ? 'npm install' : `${manager} add${flag}`}${exact}`
    return missing.length === 0 ? '' : `${command} ${missing.join(' ')}`
  }

  /** Formats text with its Prettier, if it has one. */
  async format(filepath: string, text: string): Promise<string> {
    try {
      const prettier = this.has('prettier') ? (this.find(['prettier'])?.load() as Prettier) : undefined
      const config = await prettier?.resolveConfig(filepath, { editorconfig: true })
      return (await prettier?.format(text, { ...config, filepath })) ?? text
    } catch {
      // Such as a plugin that is not installed. The style matters less than the file.
      return text
    }
  }

  /** The package.json of a package that is installed where the project finds it. */
  installed(name: string): Manifest | undefined {
    const folders = withParents(this.root).map((folder) => join(folder, 'node_modules', name))
    const found = folders.map(manifestIn).find(Boolean)
    if (found) return found
    // Yarn's Plug'n'Play has no folder.
    const resolved = this.find([`${name}/package.json`])
    return resolved && manifestIn(dirname(resolved.path))
  }
}

/** A package with a whole version, such as `cron@4.3.3`. */
const EXACT = /@\d+\.\d+\.\d/

/** Leaves out folders that may not be read, such as those of a database. Follows links to files only: others may form a circle. */
function filesIn(folder: string): string[] {
  const none: readonly Dirent[] = []
  return attempt(() => readdirSync(folder, { withFileTypes: true }), none).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return NOT_SOURCES.test(entry.name) ? [] : filesIn(path)
    const target = entry.isSymbolicLink() && existsSync(path) ? statSync(path) : entry
    return target.isFile() ? [path] : []
  })
}

/** Whether Node.js loads a file of the project as CommonJS. */
export function isCommonJs(path: string): boolean {
  const extension = extname(path)
  if (extension === '.mjs' || extension === '.mts') return false
  if (extension === '.cjs' || extension === '.cts') return true
  const manifest = withParents(dirname(path)).map(manifestIn).find(Boolean)
  return manifest?.type !== 'module'
}

/** A folder, and then those that contain it. */
function withParents(folder: string): readonly string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [folder, ...withParents(parent)]
}

function isWorkspace(folder: string): boolean {
  const shows = (file: string): boolean => existsSync(join(folder, file))
  return manifestIn(folder)?.workspaces !== undefined || ['pnpm-workspace.yaml', 'nx.json'].some(shows)
}

/** @returns `undefined` without the file, or with one that cannot be read, such as a template */
function manifestIn(folder: string): Manifest | undefined {
  const path = join(folder, 'package.json')
  return attempt(() => JSON.parse(readFileSync(path, 'utf8')) as Manifest, undefined)
}

/** What the work returns, or the other value if it throws. */
export function attempt<One, Other>(work: () => One, otherwise: Other): One | Other {
  try {
    return work()
  } catch {
    return otherwise
  }
}
