const { default: TestRunner } = require('jest-runner')
const { activeMutant, read } = require('./coverage.cjs')

/** Runs only the files that cover the mutant, the fastest first, and none after the first that fails. */
module.exports = class extends TestRunner {
  runTests(tests, watcher, options) {
    const mutant = activeMutant()
    if (mutant === undefined) return super.runTests(tests, watcher, options)
    const coverage = read()
    const covering = (how) =>
      tests
        .filter(({ path }) => coverage[path]?.[how].includes(mutant))
        .toSorted((one, other) => coverage[one.path].time - coverage[other.path].time)
    const inTests = covering('inTests')
    this.on('test-file-success', ([, { numFailingTests }]) => {
      if (numFailingTests > 0) return watcher.setState({ interrupted: true })
    })
    return super.runTests(inTests.length > 0 ? inTests : covering('loaded'), watcher, options)
  }
}
