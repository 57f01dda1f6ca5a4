import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Script } from 'node:vm'
import { parentPort, workerData as file } from 'node:worker_threads'

/** Runs the built command line each time from its beginning. Only drivers stay loaded. */
const source = readFileSync(file, 'utf8').replace(/^#!.*/, '')
const commandLine = new Script(`(require, module) => {${source}\n}`, { filename: file }).runInThisContext()
const require = createRequire(file)

parentPort.on('message', ({ args, env }) => {
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
    parentPort.postMessage({ status: process.exitCode ?? 0, ...written })
  }
  commandLine(require, {})
})
