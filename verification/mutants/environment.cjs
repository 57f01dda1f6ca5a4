const { TestEnvironment } = require('jest-environment-node')
const { activeMutant, read, write } = require('./coverage.cjs')

/** Notes which mutants a file covers. Under a mutant, skips all tests after the first that fails. */
module.exports = class extends TestEnvironment {
  #file
  #titles = []
  #before
  #started = Date.now()

  constructor(config, context) {
    super(config, context)
    this.#file = context.testPath
  }

  get #coverage() {
    return this.global.__stryker__?.mutantCoverage ?? { static: {}, perTest: {} }
  }

  async setup() {
    await super.setup()
    this.#before = { ...this.#coverage.static }
  }

  handleTestEvent({ name, test }, { rootDescribeBlock }) {
    // Stryker does not notice the end of a test that is skipped, and would count what follows as covered by it.
    if (name === 'test_skip') this.global.__stryker__.currentTestId = undefined
    if (name === 'test_start') this.#titles.push(titleOf(test))
    if (name === 'test_done' && test.errors.length > 0 && activeMutant() !== undefined)
      skip(rootDescribeBlock)
  }

  async teardown() {
    if (activeMutant() === undefined) {
      const { static: atLoad, perTest } = this.#coverage
      const inTests = new Set(this.#titles.flatMap((title) => Object.keys(perTest[title] ?? {})))
      const loaded = Object.keys(atLoad).filter((mutant) => atLoad[mutant] !== this.#before[mutant])
      write({ ...read(), [this.#file]: { inTests: [...inTests], loaded, time: Date.now() - this.#started } })
    }
    await super.teardown()
  }
}

function titleOf({ name, parent }) {
  return parent ? `${titleOf(parent)} ${name}`.trimStart() : ''
}

function skip(block) {
  for (const child of block.children)
    if (child.type === 'describeBlock') skip(child)
    else if (!child.startedAt) child.mode = 'skip'
}
