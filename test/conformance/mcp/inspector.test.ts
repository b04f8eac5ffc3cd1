import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { printTools } from '#mcp/listing.ts'
import { launcher } from '../../build/built-product.ts'
import { type Product, spawnProduct } from './spawn-product.ts'

const program = join(
  import.meta.dirname,
  '../../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
)
const { listing } = printTools()
const eras = ['legacy', 'modern'] as const
const transports = ['stdio', 'HTTP'] as const

describe('the protocol’s inspector, on farebox mcp as it is', { tags: ['protocol'] }, () => {
  let product: Product
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'farebox-inspector-'))
    product = await spawnProduct()
  }, 60_000)
  afterAll(async () => {
    await product?.close()
    await rm(folder, { recursive: true, force: true })
  }, 60_000)

  function inspect(transport: (typeof transports)[number], ...flags: string[]) {
    const server =
      transport === 'stdio'
        ? [process.execPath, launcher, 'mcp']
        : [product.url, '--transport', 'http', '--header', `Authorization: Bearer ${product.token}`]
    const env = { PATH: '', HOME: folder, FAREBOX_DATA: folder }
    return new Promise<{ code: unknown; answer: Record<string, unknown>; errors: string }>(resolve => {
      execFile(process.execPath, [program, '--cli', ...server, ...flags], { env }, (error, stdout, stderr) => {
        resolve({ code: error?.code ?? 0, answer: stdout === '' ? {} : JSON.parse(stdout), errors: stderr })
      })
    })
  }

  test.each(transports)(
    'it has nothing to say of the tools over %s',
    async transport => {
      const { code, answer, errors } = await inspect(transport, '--method', 'tools/list', '--strict')
      expect([code, errors.trim()]).toEqual([0, ''])
      expect(answer.tools).toEqual(listing.tools)
    },
    60_000,
  )

  test.each(eras)(
    'it reads lists and calls a tool in the %s era',
    async era => {
      const ask = async (...flags: string[]) => (await inspect('HTTP', '--protocol-era', era, ...flags)).answer
      expect((await ask('--method', 'prompts/list')).prompts).toEqual(listing.prompts)
      expect((await ask('--method', 'resources/list')).resources).toEqual(listing.resources)
      const called = await ask('--method', 'tools/call', '--tool-name', 'wallet_receipts')
      expect(called.structuredContent).toEqual({ receipts: [], charges: [] })
      const read = await ask('--method', 'resources/read', '--uri', 'farebox://policy')
      expect(read.contents).toMatchObject([{ uri: 'farebox://policy' }])
    },
    60_000,
  )
})
