import { get } from 'node:http'
import type { Server, StartedServer } from './server'

/** @returns why there is none, as a text, when Docker does not answer */
export async function startContainer({ container, localUrl }: Server): Promise<StartedServer | string> {
  if (localUrl === undefined) return 'it has no container'
  if (!(await dockerAnswers())) return 'Docker does not answer'
  const { GenericContainer } = await import('testcontainers')
  const started = await new GenericContainer(container.image)
    .withEnvironment({ ...container.environment })
    .withExposedPorts(container.port)
    .withCommand([...(container.command ?? [])])
    .withStartupTimeout(180_000)
    .start()
  const url = new URL(localUrl)
  url.hostname = started.getHost()
  url.port = String(started.getMappedPort(container.port))
  return { url: url.href, note: `container ${container.image}`, stop: () => started.stop() }
}

function dockerAnswers(): Promise<boolean> {
  const host = process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock'
  const address = host.startsWith('unix://')
    ? { socketPath: host.slice('unix://'.length) }
    : { host: new URL(host).hostname, port: new URL(host).port }
  return new Promise((resolve) => {
    const request = get({ ...address, path: '/_ping', timeout: 1_000 }, (response) => {
      response.resume()
      resolve(true)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })
}
