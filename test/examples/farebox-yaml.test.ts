import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '#service/config/read-config.ts'

const path = join(import.meta.dirname, '..', '..', 'examples', 'farebox.yaml')
const secret = 'x'.repeat(40)

const environment = {
  FAREBOX_SECRET: secret,
  METRICS_TOKEN: secret,
  BASE_RPC_URL: 'https://node.example.com',
  FAREBOX_EVM_KEY: `0x${'1'.repeat(64)}`,
  HOSTED_KEY: 'key',
  XAI_API_KEY: 'key',
  FACILITATOR_AUTHORIZATION: 'Bearer x',
  SOLANA_RPC_URL: 'https://node.example.com',
  FAREBOX_SVM_KEY: 'key',
}

test('examples/farebox.yaml is accepted by serve', async () => {
  const { file, openModels, checkPayments } = readConfig(await readFile(path, 'utf8'), environment)
  checkPayments()
  const log = { info() {}, warn() {}, error() {} }
  const models = openModels({ folder: tmpdir(), log, keep: (_, make) => make() })
  expect(models.map(({ id, type }) => `${type} ${id}`)).toEqual([
    'text llama-3.3-70b',
    'text grok',
    'text llama-3.1-70b',
    'embedding vectors',
    'image images',
    'tts voice',
    'asr transcripts',
    'music demo-music',
    'video demo-video',
  ])
  expect(file.listen).toEqual({ host: '127.0.0.1', port: 8402 })
})
