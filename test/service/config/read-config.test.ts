import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ConfigRefused, faultLine } from '#service/config/config-values.ts'
import { readConfig } from '#service/config/read-config.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

const silent = { info() {}, warn() {}, error() {} }
const around = { folder: tmpdir(), log: silent, keep: <Engine>(_: string, make: () => Engine) => make() }

const key = 'a-key-that-nobody-else-knows'
const environment = { KEY: key, SECRET: 'x'.repeat(32), SHORT: 'short secret' }

const whole = `
publicUrl: https://api.example.com
listen: '[::1]:9000'
secrets: ['\${SECRET}']
payments:
  evm:
    payTo: '0x000000000000000000000000000000000000dEaD'
    rpcUrl: https://node.example.com
    facilitator: { url: https://facilitator.example.com, authorization: '\${KEY}' }
models:
  - id: large
    type: text
    contextTokens: 8192
    price: { inputPerMillionUsd: 0.15, outputPerMillionUsd: '0.60', cacheWritePerMillionUsd: 0.1875 }
    traits: [default]
    upstreams:
      - &server { engine: openai, baseUrl: 'http://127.0.0.1:8000/v1', apiKey: '\${KEY}', model: inner/large, weight: 3 }
      - { <<: *server, name: second, baseUrl: 'http://127.0.0.1:8001/v1' }
  - id: weights
    type: text
    contextTokens: 2048
    price: { inputPerMillionUsd: 0.15, outputPerMillionUsd: 0.60 }
    upstreams: [{ engine: gguf, path: /models/weights.gguf, parallel: 2 }]
  - id: sentences
    type: embedding
    dimensions: 512
    price: { inputPerMillionUsd: 0.02 }
    upstreams: [{ engine: local }]
  - id: vectors
    type: embedding
    dimensions: 4
    price: { inputPerMillionUsd: 0.02 }
    upstreams: [{ engine: demo }]
  - id: images
    type: image
    price: { perImageUsd: 0.01 }
    upstreams: [{ engine: openai, baseUrl: 'http://127.0.0.1:8000/v1', lacksResponseFormat: true }, { engine: demo }]
  - id: videos
    type: video
    durations: [4s]
    price: { perSecondUsd: { all: 0.02 } }
    upstreams: [{ engine: demo }]
  - id: edits
    type: inpaint
    mostImages: 3
    price: { perImageUsd: 0.04, resolutions: { 2K: 0.08 }, quality: { 2K: { high: 0.12 } } }
    upstreams: [{ engine: openai, baseUrl: 'http://127.0.0.1:8000/v1', lacksResponseFormat: true }, { engine: demo }]
  - id: larger
    type: upscale
    price: { twiceUsd: 0.01, fourTimesUsd: 0.04 }
    upstreams: [{ engine: local }]
  - id: cutter
    type: background
    price: { perImageUsd: 0.01 }
    upstreams: [{ engine: demo }]
  - id: voice
    type: tts
    voices: [slt, rms]
    price: { perMillionCharactersUsd: 10 }
    upstreams: [{ engine: local }, { engine: service, baseUrl: 'http://127.0.0.1:8000/api/v1' }]
  - id: ear
    type: asr
    price: { perSecondUsd: 0.0001 }
    upstreams: [{ engine: openai, baseUrl: 'http://127.0.0.1:8000/v1' }, { engine: demo }]
  - id: band
    type: music
    durations: { default: 10, least: 5, most: 30 }
    price: { per: second, usd: 0.002 }
    upstreams: [{ engine: demo }]
limits: { types: { audio: { requestsPerMinute: 5 } } }
fetchHosts: ['media.internal:443']
search: { engine: searxng, baseUrl: 'http://127.0.0.1:8888', language: en }
pages: { engine: web, fetchHosts: ['wiki.internal:8080'] }
networks: [{ slug: base-mainnet, urls: ['https://node.example.com'], baseCredits: 30 }]
characters: [{ slug: guide, name: Guide, instructions: Explain., modelId: large, createdAt: 2026-11-22 }]
transcriber: { engine: openai, baseUrl: 'http://127.0.0.1:8000/v1', apiKey: '\${KEY}', model: whisper }
`

test('a whole file is read, its variables filled in and its models made', () => {
  const { file, secrets, openModels } = readConfig(whole, environment)
  expect(file.listen).toEqual({ host: '::1', port: 9000 })
  expect([...secrets]).toEqual(['x'.repeat(32), key])
  const models = openModels(around)
  expect(models.map(({ id, type, engineName }) => [id, type, engineName])).toEqual([
    ['large', 'text', 'openai'],
    ['weights', 'text', 'gguf'],
    ['sentences', 'embedding', 'local'],
    ['vectors', 'embedding', 'demo'],
    ['images', 'image', 'openai,demo'],
    ['videos', 'video', 'demo'],
    ['edits', 'inpaint', 'openai,demo'],
    ['larger', 'upscale', 'local'],
    ['cutter', 'background', 'demo'],
    ['voice', 'tts', 'local,service'],
    ['ear', 'asr', 'openai,demo'],
    ['band', 'music', 'demo'],
  ])
  expect(models[0]).toMatchObject({
    maximumCompletionTokens: 8192,
    price: { inputPicoUsd: 150_000n, outputPicoUsd: 600_000n, cacheWritePicoUsd: 187_500n },
    traits: ['default'],
  })
  expect(models[0]?.upstreams?.states().map(({ name }) => name)).toEqual(['openai-1', 'second'])
  expect(models[5]).toMatchObject({ price: { perSecondMicroUsd: { '': 20_000n } } })
  expect(models.slice(-3)).toMatchObject([
    { voices: ['slt', 'rms'], price: { perCharacterPicoUsd: 10_000_000n } },
    { price: { perSecondPicoUsd: 100_000_000n } },
    { price: { per: 'second', microUsd: 2_000n } },
  ])
  expect(models[6]).toMatchObject({ price: { resolutions: { '2K': 80_000n }, quality: { '2K': { high: 120_000n } } } })
})

/** The file with one line changed, which is found by its text. */
const changed = (from: string, to: string) => {
  expect(whole).toContain(from)
  return whole.replace(from, to)
}

function faultsOf(text: string): string[] {
  try {
    readConfig(text, environment).openModels(around)
    return []
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    return error.faults.map(fault => faultLine('f.yaml', fault))
  }
}

test.each([
  [
    'an unknown setting, with the one that is meant',
    'listen:',
    'lisen:',
    'f.yaml:3:1 lisen: Unknown setting; did you mean listen?',
  ],
  [
    'one of a model',
    'contextTokens',
    'contexTokens',
    'f.yaml:13:5 models[0].contexTokens: Unknown setting; did you mean contextTokens?',
  ],
  ['one that is missing', '    contextTokens: 8192\n', '', 'f.yaml:11:5 models[0].contextTokens: Field is required.'],
  ['a wrong kind of value', '8192', 'much', 'f.yaml:13:20 models[0].contextTokens: Expected number; found "much".'],
  [
    'an invalid price',
    '0.15',
    '1e-9',
    'f.yaml:14:34 models[0].price.inputPerMillionUsd: Must be an amount of USD such as 0.15; found 1e-9.',
  ],
  [
    'a type that there is not',
    'type: text',
    'type: txt',
    'Allowed values: text, embedding, image, inpaint, upscale, background, tts, asr, music, video',
  ],
  ['an engine that there is not', 'engine: openai,', 'engine: vllm,', 'Allowed values: openai,'],
  [
    'D4: a literal key',
    `apiKey: '\${KEY}'`,
    'apiKey: sk-1234',
    `models[0].upstreams[0].apiKey: This is a secret in plain text; write \${NAME}, and set that variable.`,
  ],
  [
    'a literal secret',
    `['\${SECRET}']`,
    `[${'s'.repeat(40)}]`,
    'f.yaml:4:11 secrets[0]: This is a secret in plain text',
  ],
  [
    'a variable that is not set',
    `\${SECRET}`,
    `\${SECRETT}`,
    'f.yaml:4:11 secrets[0]: The variable SECRETT is not set (nor SECRETT_FILE).',
  ],
  ['a variable that is not a name', `\${SECRET}`, `\${secret word}`, 'is not a variable name'],
  [
    'D4: a secret that is too short, without showing it',
    `\${SECRET}`,
    `\${SHORT}`,
    'secrets[0]: Must have 32 random characters or more; found the value of its variable.',
  ],
  [
    'D4: a password in an address',
    'https://node.example.com',
    'https://me:word@node.example.com',
    'f.yaml:8:13 payments.evm.rpcUrl: This address contains a password',
  ],
  [
    'a path in the public address',
    'api.example.com',
    'api.example.com/v1',
    'f.yaml:2:12 publicUrl: Must be a URL without a path',
  ],
  [
    'a host that callers may reach without its port',
    "fetchHosts: ['media.internal:443']",
    "fetchHosts: ['media.internal']",
    'f.yaml:71:14 fetchHosts[0]: Must be a host and a port: media.internal:443; found "media.internal".',
  ],
  [
    'an engine of searches that there is not',
    'engine: searxng',
    'engine: bing',
    'search.engine: Allowed values: searxng, demo; found "bing".',
  ],
  [
    'an invalid language',
    'language: en }',
    'language: english! }',
    'f.yaml:72:72 search.language: Must be a language such as en or pt-BR; found "english!".',
  ],
  [
    'a setting of pages that there is not',
    'engine: web, fetchHosts',
    'engine: web, fetchHost',
    'did you mean fetchHosts?',
  ],
  ['a network without a node', "urls: ['https://node.example.com']", 'urls: []', 'networks[0].urls'],
  [
    'a network that cannot stand in a path',
    'slug: base-mainnet',
    'slug: Base',
    'f.yaml:74:20 networks[0].slug: Must be lower-case letters, digits and -, such as base-mainnet; found "Base".',
  ],
  [
    'a node that is not a web address',
    "urls: ['https:",
    "urls: ['ws:",
    'networks[0].urls[0]: Must be an http or https address',
  ],
  [
    'a character whose date is none',
    'createdAt: 2026-11-22',
    'createdAt: 2026-02-31x',
    'characters[0].createdAt: Must be a day such as 2027-01-31',
  ],
  ['a character without instructions', 'instructions: Explain.', "instructions: ''", 'characters[0].instructions'],
  [
    'two characters of one slug',
    'characters: [',
    'characters: [{ slug: guide, name: G, instructions: E, modelId: large, createdAt: 2026-11-22 }, ',
    'characters: Two characters share a slug',
  ],
  [
    'a literal key of the transcriber',
    `apiKey: '\${KEY}', model: whisper`,
    'apiKey: sk-1234, model: whisper',
    'transcriber.apiKey: This is a secret in plain text',
  ],
  [
    'a limit of a type that there is not',
    'types: { audio:',
    'types: { sounds:',
    'limits.types.sounds: Unknown setting; the settings are text,',
  ],
  [
    'more confirmations than the service counts',
    'rpcUrl: https://node.example.com',
    'rpcUrl: https://node.example.com\n    confirmations: 1001',
    'payments.evm.confirmations: Must be 1000 or less; found 1001.',
  ],
  ['no settlement', `, authorization: '\${KEY}' }`, ` }\n    facilitatorKey: '\${KEY}'`, 'payments.evm'],
  ['two models of one id', 'id: vectors', 'id: large', 'Two models share an id.'],
  [
    'two upstreams of one name',
    'name: second',
    'name: openai-1',
    'f.yaml:11:5 models[0]: Two upstreams of large share a name.',
  ],
  ['no YAML', 'payments:', 'payments', 'f.yaml:5:1 A line of the form `name: value` is expected'],
  ['a tab', '    contextTokens: 8192', '\tcontextTokens: 8192', 'use spaces.'],
  ['a number that is too small', '8192', '0', 'models[0].contextTokens: Must be 1 or more; found 0.'],
  ['a part of a number', '8192', '0.5', 'models[0].contextTokens: Expected whole number; found 0.5.'],
  ['a list that is empty', `secrets: ['\${SECRET}']`, 'secrets: []', 'secrets'],
  [
    'the same setting twice',
    'listen:',
    'publicUrl: https://b.example.com\nlisten:',
    'f.yaml:3:1 This setting appears twice; keep one of them.',
  ],
])('%s is told with its place', (_, from, to, says) => {
  const faults = faultsOf(changed(from, to))
  expect(faults.join('\n')).toContain(says)
  expect(faults.join('\n')).not.toMatch(/Invalid|Too (small|big)|Unrecognized|implicit|scalar|token at/)
  expect(faults.join('\n')).not.toContain(key)
  expect(faults.join('\n')).not.toContain(environment.SHORT)
})

test('an empty file is told what it needs', () => {
  expect(faultsOf('')).toEqual(['f.yaml:1:1 publicUrl: Field is required.', 'f.yaml:1:1 models: Field is required.'])
})

test('a variable may come from a file, which is read anew each time', async () => {
  const folder = temporaryFolder('config')
  const file = join(folder, 'key')
  const read = () => [...readConfig(whole, { ...environment, KEY: '', KEY_FILE: file }).secrets][1]
  await writeFile(file, 'first\n')
  expect(read()).toBe('first')
  await writeFile(file, 'second\n')
  expect(read()).toBe('second')
  await writeFile(file, '\uFEFFof PowerShell\r\n', 'utf16le')
  expect(read()).toBe('of PowerShell')
  await rm(file)
  expect(read).toThrow(ConfigRefused)
})

test('D5: an address of figures that others reach needs a token', () => {
  const metrics = (line: string) => faultsOf(whole.replace('payments:', `metrics: ${line}\npayments:`)).join()
  expect(metrics("{ listen: '0.0.0.0:9402' }")).toContain('need a token')
  expect(metrics("{ listen: '127.0.0.1:9402' }")).toBe('')
  expect(metrics(`{ listen: '0.0.0.0:9402', token: '\${SECRET}' }`)).toBe('')
})

test('O10: the console listens on loopback alone', () => {
  const admin = (line: string) => faultsOf(whole.replace('payments:', `admin: ${line}\npayments:`)).join()
  for (const host of ['0.0.0.0', '192.168.1.5', '[::]', 'console.example'])
    expect(admin(`{ listen: '${host}:8405' }`)).toContain('Must be a loopback address')
  for (const line of ["{ listen: '127.0.0.1:9405' }", "{ listen: '[::1]:8405' }", 'false']) expect(admin(line)).toBe('')
  expect(admin("{ publicUrl: 'http://console.example' }")).toContain('Must be an https URL')
  expect(admin("{ publicUrl: 'https://console.example' }")).toBe('')
})

test('whatever stands in a file, only faults come of it', () => {
  const value = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constantFrom(`\${KEY}`, '*a', '&a {}', '{', '- x', 'null'),
  )
  const line = fc.tuple(fc.constantFrom('publicUrl', 'models', 'listen', 'secrets', '  - id', '    type'), value)
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), lines => {
      faultsOf(lines.map(([name, each]) => `${name}: ${each}`).join('\n'))
    }),
    { numRuns: 300 },
  )
})

/** Of a text that is refused, where and with what sentence. */
function faultsIn(text: string, variables: Record<string, string> = environment): string[] {
  try {
    readConfig(text, variables)
  } catch (error) {
    if (error instanceof ConfigRefused) return error.faults.map(fault => faultLine('f.yaml', fault))
    throw error
  }
  return []
}

test.each([
  ['a list', 'models:\n  - id: a\n    traits: [default\n    contextTokens: 5\n', [/^f\.yaml:3:13 .*\[.*\]/]],
  ['a map within a list', 'models: [{ id: a }, { id: b ]\n', [/^f\.yaml:1:9 .*\[.*\]/, /^f\.yaml:1:21 .*\{.*\}/]],
  ['a list at the end', 'models: [\n', [/^f\.yaml:1:9 .*\[.*\]/]],
] as const)('%s that is never closed is told where it opens', (_, text, told) => {
  expect(faultsIn(text)).toEqual(told.map(line => expect.stringMatching(line)))
})

test('a variable that is not set is the one fault, also where a rule wants that setting or another', () => {
  const text = whole.replace(/facilitator: .*/, () => `facilitatorKey: '\${GAS_KEY}'`)
  expect(faultsIn(text)).toEqual([
    expect.stringMatching(/payments\.evm\.facilitatorKey: The variable GAS_KEY is not set/),
  ])
  expect(faultsIn(text, { ...environment, GAS_KEY: `0x${'1'.repeat(64)}` })).toEqual([])
})

test.each(['models: &m [*m]\n', 'payments: &p { evm: *p }\n'])('an alias within its own value is a fault: %j', text => {
  expect(faultsIn(text)).toEqual([expect.stringContaining('aliases do not resolve')])
})
