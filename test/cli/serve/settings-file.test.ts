/** Changes of `farebox.yaml` from the console: what they write, what they show, and what is refused. */
import { chmod, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { loadVersion, versionOf } from '#cli/serve/config.ts'
import { withChanges } from '#cli/serve/settings-edit.ts'
import { settingsFileOf } from '#cli/serve/settings-file.ts'
import type { SettingsChange } from '#pages/console/wire.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

const secrets = ['sk-in-the-file', '10.9.8.7', '/srv/farebox', 'a word of ours', 'p-in-a-comment', 'Be brief']
const text = `# The service of p-in-a-comment.
publicUrl: https://api.example
data: /srv/farebox   # where everything is
systemPrompt: Be brief.
plan: default

limits:
  types:
    # Images are slow.
    image: { requestsPerMinute: 10 }
models:
  - id: chat   # a word of ours
    type: text
    contextTokens: 8_192
    price:
      # Dearer at night.
      inputPerMillionUsd: 0.60
      outputPerMillionUsd: '2.40'
    upstreams:
      - engine: openai
        baseUrl: http://10.9.8.7:8000/v1
        passMembers: [a]
  - { id: small, type: text, contextTokens: 8192, price: { inputPerMillionUsd: 0.1, outputPerMillionUsd: '\${OUT}' }, upstreams: [{ engine: openai, baseUrl: 'http://10.9.8.7:8001', model: sk-in-the-file }] } # p-in-a-comment
  - id: video
    type: video
    durations: [4s]
    price: { perSecondUsd: { all: 0.02 } }
    upstreams: [{ engine: demo }]
`.replace('8_192', '8192')

let folder: string
let path: string
let reloads: number
const env = { OUT: '0.2' }
beforeEach(async () => {
  folder = temporaryFolder('settings')
  path = join(folder, 'farebox.yaml')
  reloads = 0
  await writeFile(path, text)
})

async function opened(at = path) {
  const { config, version } = await loadVersion(at, env)
  const reload = async () => {
    reloads++
    return null
  }
  return { version, file: settingsFileOf({ path: at, env, started: config.file, loaded: () => version, reload }) }
}

const price = (usd: string | null, model = 'chat', name = 'inputPerMillionUsd'): SettingsChange => ({
  ...{ kind: 'price', model, price: name, usd },
})
const limit = (name: string, requestsPerMinute: number | null, scope: 'types' | 'models' | 'apiKey' = 'types') => ({
  ...{ kind: 'limit' as const, scope, name, requestsPerMinute, tokensPerMinute: null },
})
const off = (model: string, isOn = false): SettingsChange => ({ kind: 'model', model, isOn })

/** The lines that changed, as `diff` prints them. */
async function written(...changes: SettingsChange[]): Promise<string[]> {
  const { version, file } = await opened()
  await file.change({ version, changes }, async () => undefined)
  const [before, after] = [text.split('\n'), (await readFile(path, 'utf8')).split('\n')]
  return [
    ...before.filter(line => !after.includes(line)).map(line => `-${line}`),
    ...after.filter(line => !before.includes(line)).map(line => `+${line}`),
  ]
}

describe('a change replaces its own setting, and no other byte of the file', () => {
  test.each([
    ['a price', [price('0.75')], ['-      inputPerMillionUsd: 0.60', '+      inputPerMillionUsd: 0.75']],
    [
      'a price in quotes',
      [price('3', 'chat', 'outputPerMillionUsd')],
      ["-      outputPerMillionUsd: '2.40'", '+      outputPerMillionUsd: 3'],
    ],
    [
      'a price within a price',
      [price('0.05', 'video', 'perSecondUsd.all')],
      ['-    price: { perSecondUsd: { all: 0.02 } }', '+    price: { perSecondUsd: { all: 0.05 } }'],
    ],
    ['the plan', [{ kind: 'plan', plan: 'partner' }], ['-plan: default', '+plan: partner']],
    ['a model that is off', [off('chat')], ['+    enabled: false']],
    [
      'a price that the file does not have yet',
      [price('0.06', 'chat', 'cachedInputPerMillionUsd')],
      ['+      cachedInputPerMillionUsd: 0.06'],
    ],
    [
      'a price of a name to choose',
      [price('0.03', 'video', 'perSecondUsd.720p')],
      ['-    price: { perSecondUsd: { all: 0.02 } }', '+    price: { perSecondUsd: { "720p": 0.03, all: 0.02 } }'],
    ],
    [
      'a default price',
      [price('0.01', 'video', 'audioPerSecondUsd')],
      [
        '-    price: { perSecondUsd: { all: 0.02 } }',
        '+    price: { audioPerSecondUsd: 0.01, perSecondUsd: { all: 0.02 } }',
      ],
    ],
    [
      'a limit',
      [limit('image', 20)],
      ['-    image: { requestsPerMinute: 10 }', '+    image: { requestsPerMinute: 20 }'],
    ],
    ['a limit more', [limit('text', 5)], ['+    text: { requestsPerMinute: 5 }']],
    ['a limit of a model', [limit('chat', 5, 'models')], ['+  models: { chat: { requestsPerMinute: 5 } }']],
    [
      'several at once',
      [price('0.7'), off('video')],
      ['-      inputPerMillionUsd: 0.60', '+      inputPerMillionUsd: 0.7', '+    enabled: false'],
    ],
  ] as [string, SettingsChange[], string[]][])('%s', async (_, changes, lines) => {
    expect(await written(...changes)).toEqual(lines)
    expect(reloads).toBe(1)
    const { file } = await opened()
    expect((await file.check()).faults).toEqual([])
  })

  test('a model in one line', async () => {
    const lines = await written(off('small'), price('0.3', 'small'))
    expect(lines[1]).toMatch(
      /^\+ {2}- \{ enabled: false, id: small, .* inputPerMillionUsd: 0\.3, .*\} # p-in-a-comment$/,
    )
  })

  test('a model that is on again, and the last limit, leave nothing behind', async () => {
    const first = await opened()
    await first.file.change({ version: first.version, changes: [off('chat'), limit('image', null)] }, async () => {})
    expect(await readFile(path, 'utf8')).not.toMatch(/limits|image/)
    const next = await opened()
    await next.file.change({ version: next.version, changes: [off('chat', true)] }, async () => {})
    expect(await readFile(path, 'utf8')).toBe(text.replace(/limits:\n.*\n.*\n.*\n/, ''))
  })
})

describe('optional prices', () => {
  const prices = async (model: string) => {
    const { file } = await opened()
    return (await file.check()).edits?.models.find(each => each.model === model)?.prices
  }

  test('are listed, with those that can be added; one of a variable is neither', async () => {
    expect(await prices('chat')).toEqual([
      { name: 'inputPerMillionUsd', usd: '0.6', isOptional: false },
      { name: 'outputPerMillionUsd', usd: '2.40', isOptional: false },
      { name: 'cachedInputPerMillionUsd', usd: null, isOptional: true },
      { name: 'cacheWritePerMillionUsd', usd: null, isOptional: true },
    ])
    expect((await prices('small'))?.map(({ name }) => name)).toEqual([
      ...['inputPerMillionUsd', 'cachedInputPerMillionUsd', 'cacheWritePerMillionUsd'],
    ])
    expect(await prices('video')).toEqual([
      { name: 'perSecondUsd.all', usd: '0.02', isOptional: true },
      { name: 'perSecondUsd.*', usd: null, isOptional: true },
      { name: 'audioPerSecondUsd', usd: null, isOptional: true },
      { name: 'referencePerSecondUsd', usd: null, isOptional: true },
    ])
  })

  test('that were added are removed again without a trace', async () => {
    for (const [model, name] of [
      ['chat', 'cacheWritePerMillionUsd'],
      ['small', 'cachedInputPerMillionUsd'],
      ['video', 'perSecondUsd.1080p'],
    ] as const) {
      const first = await opened()
      await first.file.change({ version: first.version, changes: [price('0.5', model, name)] }, async () => {})
      expect((await prices(model))?.find(each => each.name === name)).toMatchObject({ usd: '0.5', isOptional: true })
      const next = await opened()
      await next.file.change({ version: next.version, changes: [price(null, model, name)] }, async () => {})
      expect(await readFile(path, 'utf8')).toBe(text)
    }
  })
})

test('the former file stays beside it, with its mode; a link stays one', async () => {
  await chmod(path, 0o640)
  const link = join(folder, 'linked.yaml')
  await symlink(path, link)
  const { version, file } = await opened(link)
  await file.change({ version, changes: [price('1')] }, async () => {})
  expect((await readdir(folder)).sort()).toEqual(['farebox.yaml', 'farebox.yaml.bak', 'linked.yaml'])
  expect(await readFile(`${path}.bak`, 'utf8')).toBe(text)
  expect(await readFile(link, 'utf8')).toContain('inputPerMillionUsd: 1\n')
  for (const each of [path, `${path}.bak`]) expect((await stat(each)).mode & 0o777).toBe(0o640)
})

test('O19: callers get their turn between the edits of a draft', async () => {
  const changes = Array.from({ length: 50 }, (_, each) => limit('chat', each + 1, 'models'))
  let turns = 0
  let isDone = false
  const changed = withChanges(text, changes).finally(() => {
    isDone = true
  })
  while (!isDone) {
    await turn()
    turns++
  }
  expect(await changed).toContain('requestsPerMinute: 50')
  expect(turns).toBeGreaterThanOrEqual(changes.length)
})

test('O19: neither the page nor a change shows a key, an address, a path, a prompt or a comment', async () => {
  const { version, file } = await opened()
  const changes = [price('1'), off('small'), price('0.5', 'small'), limit('text', 5), off('video')]
  const draft = await file.draft({ version, changes })
  const shown = JSON.stringify([draft, (await file.check()).edits])
  for (const secret of secrets) expect(shown).not.toContain(secret)
  expect(draft).toContain('-      inputPerMillionUsd: 0.60')
  expect(draft).toContain('+      inputPerMillionUsd: 1')
  expect(draft.find(line => line.startsWith('+  - {'))).toMatch(/enabled: false, id: small, type: text, .*…/)
})

describe('what is refused changes nothing, and is not noted', () => {
  test.each([
    ['a model that is not there', [price('1', 'none')], /There is no model none/],
    ['a price that is not there', [price('1', 'chat', 'perImageUsd')], /has no price perImageUsd/],
    ['a path for a price', [price('1', 'chat', 'upstreams.0.weight')], /has no price/],
    ['a required price that would go', [price(null)], /chat needs its price inputPerMillionUsd/],
    ['the last of a price’s amounts', [price(null, 'video', 'perSecondUsd.all')], /would be invalid/],
    ['a price that is not there and would go', [price(null, 'chat', 'cachedInputPerMillionUsd')], /has no price/],
    ['a price of another type', [price('1', 'chat', 'perSecondUsd.720p')], /has no price/],
    ['a name that is not a resolution', [price('1', 'video', 'perSecondUsd.__proto__')], /has no price/],
    ['a name with a star', [price('1', 'video', 'perSecondUsd.*')], /has no price/],
    ['a price of a variable', [price('1', 'small', 'outputPerMillionUsd')], /has no price/],
    ['more digits than an amount has', [price('0.0000001')], /would be invalid: line \d+, models\[0\]\.price/],
    ['a limit of no type', [limit('nothing', 1)], /would be invalid/],
    ['what is there already', [price('0.6')], /settings already/],
    ['a name that is not a plain key', [limit('__proto__', 1)], /would be invalid|cannot be changed/],
  ] as [string, SettingsChange[], RegExp][])('%s', async (_, changes, why) => {
    const { version, file } = await opened()
    let notes = 0
    const note = async () => void notes++
    await expect(file.draft({ version, changes })).rejects.toThrow(why)
    await expect(file.change({ version, changes }, note)).rejects.toThrow(why)
    expect([notes, reloads, await readFile(path, 'utf8'), await readdir(folder)]).toEqual([
      0,
      0,
      text,
      ['farebox.yaml'],
    ])
  })

  test('a value that an alias shares with another model', async () => {
    const shared = text
      .replace('    price:\n      #', '    price: &p\n      #')
      .replace('price: { perSecondUsd: { all: 0.02 } }', 'price: { perSecondUsd: { all: 0.02 } }')
      .concat('  - { id: other, type: text, contextTokens: 8192, price: *p, upstreams: [{ engine: demo }] }\n')
    await writeFile(path, shared)
    const { version, file } = await opened()
    for (const model of ['chat', 'other'])
      await expect(file.draft({ version, changes: [price('1', model)] })).rejects.toThrow(/cannot be changed alone/)
  })

  test('a file that was edited meanwhile, even while the act is noted', async () => {
    const { version, file } = await opened()
    await writeFile(path, `${text}# edited\n`)
    await expect(file.draft({ version, changes: [price('1')] })).rejects.toThrow(/has changed since/)
    const changed = versionOf(`${text}# edited\n`)
    const [one, other] = [price('1'), price('2')].map(each =>
      file.change({ version: changed, changes: [each] }, async () => {}),
    )
    await expect(one).resolves.toMatchObject({ said: expect.stringContaining('was written') })
    await expect(other).rejects.toThrow(/has changed since/)
  })

  test('a file that another process is changing; a new one that a process left when it died is replaced', async () => {
    const [one, other] = [await opened(), await opened()]
    const { promise: noted, resolve: note } = Promise.withResolvers<void>()
    const first = one.file.change({ version: one.version, changes: [price('1')] }, () => noted)
    await expect.poll(() => readdir(folder)).toContain('farebox.yaml.bak')
    await expect(other.file.change({ version: other.version, changes: [price('2')] }, async () => {})).rejects.toThrow(
      /another process/,
    )
    note()
    await first
    await writeFile(`${path}.new`, 'half of a fi')
    const before = new Date(Date.now() - 3_600_000)
    await utimes(`${path}.new`, before, before)
    const next = await opened()
    await next.file.change({ version: next.version, changes: [price('2')] }, async () => {})
    expect(await readFile(path, 'utf8')).toContain('inputPerMillionUsd: 2\n')
    expect((await readdir(folder)).sort()).toEqual(['farebox.yaml', 'farebox.yaml.bak'])
  })

  test('where the ledger does not take the row of the log, the file stays', async () => {
    const { version, file } = await opened()
    const failing = async () => Promise.reject(new Error('no ledger'))
    await expect(file.change({ version, changes: [price('1')] }, failing)).rejects.toThrow('no ledger')
    expect([reloads, await readFile(path, 'utf8')]).toEqual([0, text])
    expect((await readdir(folder)).filter(name => name.endsWith('.new'))).toEqual([])
  })
})

test('where only another process cannot load what was written, the answer says so', async () => {
  const { config, version } = await loadVersion(path, env)
  const reload = async () => 'Another worker did not answer.'
  const file = settingsFileOf({ path, env, started: config.file, loaded: () => version, reload })
  const { said } = await file.change({ version, changes: [price('1')] }, async () => {})
  expect(said).toMatch(/this process uses it\. Another worker did not answer\./)
})

test('a service that cannot load what was written says so', async () => {
  const { config, version } = await loadVersion(path, env)
  const reload = () => Promise.reject(new Error('Adding the first video model needs a restart.'))
  const file = settingsFileOf({ path, env, started: config.file, loaded: () => version, reload })
  const { said } = await file.change({ version, changes: [price('1')] }, async () => {})
  expect(said).toBe(
    'The file was written, but the service still uses its former settings: adding the first video model needs a restart.',
  )
})
