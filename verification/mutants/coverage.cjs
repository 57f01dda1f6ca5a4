const { existsSync, readFileSync, writeFileSync } = require('node:fs')

/**
 * What each file of tests covers, besides what Stryker remembers: Stryker selects tests by their titles only, and so would load all
 * files for each mutant.
 */
const path = process.env.MUTANT_COVERAGE

exports.read = () => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {})
exports.write = (coverage) => writeFileSync(path, JSON.stringify(coverage))
exports.activeMutant = () => process.env.__STRYKER_ACTIVE_MUTANT__
