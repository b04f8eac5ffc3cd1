/** What a terminal says when a disk is full or may not be written: what, where, and how to go on; `disk-errors.snap`. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { atService, fails, file, type Mistake, type Place, passphrase, service, withLedger } from './places.ts'
import { provoke } from './provoke.ts'

vi.setConfig({ testTimeout: 60_000 })

/** A disk of memory at `{folder}/disk`: with no room left, or read-only with `files` on it. */
const disk =
  (isFull: boolean, more?: Mistake['before']) =>
  async (place: Place): Promise<Record<string, string>> => {
    const path = join(place.folder, 'disk')
    mkdirSync(path)
    const mount = (...args: string[]) => expect(spawnSync('mount', args).status).toBe(0)
    mount('-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', path)
    place.closing.push(async () => void spawnSync('umount', ['-l', path]))
    if (isFull) {
      for (const bytes of [200_000, 4096, 1024, 1])
        for (let at = 0; fits(join(path, `filler-${bytes}-${at}`), bytes); at++);
    } else mount('-o', 'remount,ro', path)
    return { disk: path, ...(await more?.(place)) }
  }

function fits(path: string, bytes: number): boolean {
  try {
    writeFileSync(path, Buffer.alloc(bytes))
    return true
  } catch {
    return false
  }
}

const withPassphrase = file('pass', `${passphrase}\n`)
const onDisk = { FAREBOX_DATA: '{disk}/wallet', FAREBOX_BASE_URL: '{url}', FAREBOX_API_KEY: 'fb_of_a_test' }

const rowsFor = (isFull: boolean): Mistake[] => {
  const wrong = isFull ? 'is full' : 'read-only'
  const next = isFull ? 'Free some space' : 'Make it writable'
  const on = (before?: Mistake['before']) => ({ before: disk(isFull, before) })
  const anywhere = isFull ? null : '{disk}'
  return [
    fails('up --once --no-journey --port 0 --data {disk}/up', wrong, anywhere, next, on()),
    fails('init --config {disk}/farebox.yaml --no-search', wrong, '{disk}', 'choose another file', on()),
    fails('backup {disk}/copy.db --data {folder}/service', wrong, 'copy.db', next, on(withLedger)),
    fails('wallet create --passphrase-file {path}', wrong, anywhere, next, {
      env: { FAREBOX_DATA: '{disk}/wallet' },
      ...on(withPassphrase),
    }),
    fails('wallet stop', wrong, '{disk}', next, { env: { FAREBOX_DATA: '{disk}/wallet' }, ...on() }),
    fails(
      'install cursor --yes --service http://127.0.0.1:9/api/v1',
      wrong,
      '{disk}',
      'try again. Nothing was changed',
      {
        env: { HOME: '{disk}' },
        ...on(),
      },
    ),
    fails('call chat model=m prompt=hi', wrong, '{disk}', next, { env: onDisk, ...on(service()) }),
    fails('call speech_create model=s text=hi', isFull ? 'no space left' : 'cannot be created', null, 'output', {
      env: { ...atService, FAREBOX_OUTPUT_DIR: '{disk}/output' },
      ...on(service({ alsoListed: [speaker], instead: speak })),
    }),
    fails('mcp --http --port 0', wrong, anywhere, next, { env: onDisk, ...on(service()) }),
  ]
}

const speaker = {
  ...{ id: 's', object: 'model', owned_by: 'x', type: 'tts' },
  model_spec: { privacy: 'private', pricing: { input: { usd: 1, diem: 1 } }, voices: ['a'] },
}

function speak({ path }: { path: string }, response: ServerResponse): boolean {
  if (!path.endsWith('/audio/speech')) return false
  response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.alloc(50_000, 0xff))
  return true
}

const lines: string[] = []

for (const [name, isFull] of [
  ['a full disk', true],
  ['a read-only disk', false],
] as const)
  test.each(rowsFor(isFull).map(mistake => [mistake.typed, mistake] as const))(
    `${name}: %s`,
    { tags: ['mounts'] },
    async (typed, mistake) => {
      const { code, said, fill, golden } = await provoke(mistake)
      lines.push(`${name}\n$ farebox ${typed}\n${golden}\n`)
      expect(said).toContain(mistake.wrong)
      expect(said).toContain(fill(mistake.allowed ?? ''))
      expect(said).toContain(fill(mistake.next))
      expect(code, said).toBe(mistake.code)
      expect(said).not.toMatch(/unexpected error|\bat file:|undefined|\[object|NaN/)
    },
  )

test('they are these sentences', { tags: ['mounts'] }, async () => {
  await expect(lines.join('\n')).toMatchFileSnapshot('disk-errors.snap')
})
