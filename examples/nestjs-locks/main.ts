import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Three instances of one app, which write to this terminal. */
const instances = [1, 2, 3].map(() => fork(join(__dirname, 'instance.js')))

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => {
    for (const instance of instances) instance.kill('SIGTERM')
  })

void Promise.all(instances.map((instance) => once(instance, 'message'))).then(() => {
  console.log('ready')
})
