import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join, relative } from 'node:path'

interface Manifest {
  readonly type?: unknown
  readonly workspaces?: unknown
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly scripts?: Readonly<Record<string, string>>
  /** Where Prisma looked for its settings before version 7. */
  readonly prisma?: { readonly schema?: unknown }
}

/** A package that a project can load. */
export interface Installed {
  readonly name: string
  load(): unknown
}

/** Folders without sources of the project. */
const NOT_SOURCES = /^(\..*|node_modules|dist|build|out|coverage|generated)$/

/** The user's project: the folder in which the command runs. */
export class Project {
  readonly manifest: Manifest
  readonly #declared: Readonly<Record<string, string>>
  /** What the root of its workspace names for all members. */
  readonly #shared: Readonly<Record<string, string>>
  readonly #files: string[] = []

  constructor(readonly root = process.cwd()) {
    this.manifest = manifestIn(root) ?? {}
    this.#declared = declaredIn(this.manifest)
    this.#shared = workspaceOf(root)
  }

  /** Whether its package.json names the package, or that of its workspace. */
  has(name: string): boolean {
    return this.declares(name) || name in this.#shared
  }

  /** Whether its own package.json names the package. */
  declares(name: string): boolean {
    return name in this.#declared
  }

  /** The member of the workspace that contains a file; else the project itself. */
  memberWith(file: string): Project {
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder))
      if (this.exists(join(folder, 'package.json'))) return new Project(join(this.root, folder))
    return this
  }

  /** The installed version of a package, or the one that package.json asks for; empty if neither is known. */
  version(name: string): string {
    for (const folder of withParents(this.root)) {
      const { version } = (manifestIn(join(folder, 'node_modules', name)) ?? {}) as { version?: string }
      if (version !== undefined) return version
    }
    return /\d+(\.\d+)*/.exec(this.#declared[name] ?? this.#shared[name] ?? '')?.[0] ?? ''
  }

  /** What an installed package needs of another one, such as `@4.3.3`; empty if it is not known. */
  versionFor(name: string, dependency: string): string {
    const manifests = withParents(this.root).map((folder) => manifestIn(join(folder, 'node_modules', name)))
    const wanted = manifests.find(Boolean)?.dependencies?.[dependency]
    return wanted === undefined ? '' : `@${wanted}`
  }

  /**
   * Finds the first of these packages that is installed for the project, or for one of its packages in `via`: with pnpm, a package
   * that only another one depends on cannot be found from the project itself.
   */
  find(packages: readonly string[], via: readonly string[] = []): Installed | undefined {
    const project = createRequire(join(this.root, 'package.json'))
    const carriers = via.flatMap((name) => pathOf(project, name) ?? [])
    for (const from of [project, ...carriers.map((path) => createRequire(path))]) {
      for (const name of packages) {
        const path = pathOf(from, name)
        if (path !== undefined) return { name, load: () => from(path) as unknown }
      }
    }
    return undefined
  }

  /** The paths of its files with one of these extensions, relative to its folder. */
  files(...extensions: readonly string[]): readonly string[] {
    if (this.#files.length === 0) this.#collect(this.root)
    return this.#files.filter((file) => extensions.includes(extname(file)))
  }

  /** JavaScript and TypeScript, without declarations. */
  sources(): readonly string[] {
    return this.files('.ts', '.mts', '.cts', '.js', '.mjs', '.cjs').filter((file) => !/\.d\.\w+$/.test(file))
  }

  read(file: string): string {
    return readFileSync(join(this.root, file), 'utf8')
  }

  exists(file: string): boolean {
    return existsSync(join(this.root, file))
  }

  /** Whether a file is in its folder or in one above, such as the lock file of a workspace. */
  hasAbove(file: string): boolean {
    return withParents(this.root).some((folder) => existsSync(join(folder, file)))
  }

  #collect(folder: string): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isFile()) this.#files.push(relative(this.root, path).replaceAll('\\', '/'))
      else if (entry.isDirectory() && !NOT_SOURCES.test(entry.name)) this.#collect(path)
    }
  }
}

/** Whether Node.js loads a file of the project as CommonJS. */
export function isCommonJs(path: string): boolean {
  const extension = extname(path)
  if (extension === '.mjs' || extension === '.mts') return false
  if (extension === '.cjs' || extension === '.cts') return true
  return typeOfPackage(dirname(path)) !== 'module'
}

function typeOfPackage(folder: string): unknown {
  for (const each of withParents(folder)) {
    const manifest = manifestIn(each)
    if (manifest) return manifest.type
  }
  return undefined
}

/** A folder, and then those that contain it. */
function withParents(folder: string): readonly string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [folder, ...withParents(parent)]
}

function declaredIn({ dependencies, devDependencies, peerDependencies }: Manifest) {
  return { ...peerDependencies, ...devDependencies, ...dependencies }
}

/** What the root of the workspace that a folder belongs to names; empty without a workspace. */
function workspaceOf(folder: string): Readonly<Record<string, string>> {
  for (const above of withParents(folder).slice(1)) {
    const manifest = manifestIn(above)
    if (manifest && (manifest.workspaces !== undefined || existsSync(join(above, 'pnpm-workspace.yaml'))))
      return declaredIn(manifest)
  }
  return {}
}

function manifestIn(folder: string): Manifest | undefined {
  const file = join(folder, 'package.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest) : undefined
}

/** @returns `undefined` when it is not installed there */
function pathOf(from: NodeJS.Require, name: string): string | undefined {
  try {
    return from.resolve(name)
  } catch {
    return undefined
  }
}
