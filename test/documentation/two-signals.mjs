// Sends this process SIGTERM as soon as it handles that, and once more in its shutdown, as npm, nodemon and `tsx watch` do.
const terminate = () => process.kill(process.pid, 'SIGTERM')

process.on('newListener', function begin(event) {
  if (event !== 'SIGTERM') return
  process.off('newListener', begin)
  setImmediate(() => {
    process.prependOnceListener('SIGTERM', () => setImmediate(terminate))
    terminate()
  })
})
