// node_modules has better-sqlite3's addon for one version of Node.js; the other versions bring their own.
const dlopen = process.dlopen
process.dlopen = (module, file, ...flags) =>
  dlopen(module, file.endsWith('better_sqlite3.node') ? process.env.BETTER_SQLITE3_ADDON : file, ...flags)
