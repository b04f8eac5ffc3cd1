/** Commands with a proxy in the environment: this machine is reached directly. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { localServer } from '../local-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const farebox = fileURLToPath(new URL('../../bin/farebox.mjs', import.meta.url))

const noProxies = ['no_proxy', 'NO_PROXY']

test.each([
  ['no exception', {}],
  ['an exception', { NO_PROXY: 'internal.example' }],
  ['a lower-case exception, which Node prefers', { no_proxy: 'internal.example' }],
])('a model server on this machine is asked directly, with %s', async (_, given) => {
  const asked: string[] = []
  const answering = (name: string) =>
    localServer((request, response) => {
      asked.push(`${name} ${request.url}`)
      response.end('{"data":[]}')
    })
  const [engine, proxy] = await Promise.all([answering('engine'), answering('proxy')])
  onTestFinished(async () => void (await Promise.all([engine.close(), proxy.close()])))
  const folder = temporaryFolder('own-machine')
  const file = join(folder, 'farebox.yaml')
  const upstream = `{ engine: openai, baseUrl: '${engine.url}/v1' }`
  writeFileSync(
    file,
    `publicUrl: http://127.0.0.1:8402
listen: 127.0.0.1:0
models:
  - id: one
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    upstreams: [${upstream}]
`,
  )
  const others = Object.entries(process.env).filter(([name]) => !noProxies.includes(name))
  const child = spawn(process.execPath, [farebox, 'doctor', '--config', file, '--json'], {
    env: {
      ...Object.fromEntries(others),
      ...{ NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, FAREBOX_DATA: folder },
      ...given,
    },
  })
  const told = await text(child.stdout)
  expect(told).toContain(`${engine.host} (one) answers.`)
  expect(asked).toEqual(['engine /v1/models'])
})
