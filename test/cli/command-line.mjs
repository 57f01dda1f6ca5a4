import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Script } from 'node:vm'

/** Runs the built command line each time from its beginning. Only drivers stay loaded. */
const [, , file] = process.argv
const source = readFileSync(file, 'utf8').replace(/^#!.*/, '')
const commandLine = new Script(`(require, module) => {${source}\n}`, { filename: file }).runInThisContext()
const require = createRequire(file)

process.on('message', ({ args, env, cwd }) => {
  process.chdir(cwd)
  const written = { stdout: '', stderr: '' }
  for (const name of Object.keys(written)) {
    process[name].removeAllListeners('error')
    process[name].write = (text, done) => {
      written[name] += text
      done?.()
      return true
    }
  }
  process.argv = [process.execPath, file, ...args]
  process.env = env
  process.exitCode = undefined
  process.exit = () => {
    process.send({ status: process.exitCode ?? 0, ...written })
  }
  commandLine(require, {})
})
