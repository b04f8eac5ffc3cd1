import { mkdir, realpath, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { keptSavedFiles } from '#agent/bounds.ts'
import { Files } from '#agent/media/files.ts'
import { Previews } from '#agent/media/previews.ts'
import { insertSavedFile, type NewSavedFile, SavedFiles } from '#agent/media/saved-files.ts'
import { ToolFiles } from '#agent/media/tool-files.ts'
import { agentTool } from '#agent/tools/agent-tool.ts'
import { catalogue } from '#agent/tools/catalogue.ts'
import { resourceFileBytes } from '#toolkit/bounds.ts'
import { openState, type State } from '#wallet/records/state.ts'
import { answerJson } from '../client/little-server.ts'
import { manualClock } from '../client/manual-clock.ts'
import { openAgent, temporaryFolder } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
const timing = { inferenceDuration: 0, inferencePreprocessingTime: 0, inferenceQueueTime: 0, total: 0 }
const mp4 = Buffer.concat([Buffer.from('00000018667479706d703432', 'hex'), Buffer.alloc(100, 7)])

function stateOf(): State {
  const state = openState(temporaryFolder())
  onTestFinished(() => state.close())
  return state
}

describe('what tools save is remembered', () => {
  let service: Awaited<ReturnType<typeof pretendService>>
  let agent: Awaited<ReturnType<typeof openAgent>>
  beforeAll(async () => {
    const pricing = { generation: { usd: 0.01, diem: 0.01 } }
    const paint = {
      id: 'paint',
      object: 'model',
      owned_by: 'x',
      type: 'image',
      model_spec: { privacy: 'private', pricing },
    }
    service = await pretendService({
      credit: 5,
      instead(seen, response) {
        if (seen.path.includes('/models')) answerJson(response, 200, { object: 'list', type: 'all', data: [paint] })
        else if (seen.path.endsWith('/image/generate')) {
          answerJson(response, 200, { id: 'x', images: [png, png].map(each => each.toString('base64')), timing })
        } else if (seen.path.endsWith('/video/retrieve')) {
          response.writeHead(200, { 'content-type': 'video/mp4' }).end(mp4)
        } else return false
        return true
      },
    })
    agent = await openAgent({ baseUrl: service.baseUrl, outputFolder: temporaryFolder() })
  })
  afterAll(async () => {
    await agent.close()
    await service.close()
  })

  const call = async (name: string, given: object) => {
    const tool = await catalogue.tools[name]?.()
    if (!tool) throw new Error(`There is no ${name}.`)
    return agentTool(tool, agent.host, undefined).call(given)
  }

  test('with each image of an answer, its tool and its model, and read by link and by id', async () => {
    const { files } = await call('image_create', { model: 'paint', prompt: 'Two kites.', variants: 2 })
    const fixture = agent.context().files
    const kept = await fixture.saved(10)
    expect(kept.map(({ path, model, tool, bytes }) => ({ path, model, tool, bytes }))).toEqual(
      files.toReversed().map(({ path }) => ({ path, model: 'paint', tool: 'image_create', bytes: png.length })),
    )
    for (const address of [pathToFileURL(kept[0]?.path ?? '').href, kept[0]?.id ?? '']) {
      expect(await fixture.readSaved(address)).toEqual({ file: kept[0], bytes: png })
    }
  })

  test('with the file of a job under the id of the job', async () => {
    const started = await call('video_create', { model: 'm', prompt: 'A cat.', duration: '5s' })
    const { job_id } = started.output
    const done = await call('job_wait', { job_id })
    expect((await agent.context().files.saved(1))[0]).toMatchObject({
      ...{ id: job_id, path: done.files[0]?.path, mimeType: 'video/mp4', tool: 'video_create', model: 'm' },
    })
  })

  test('and an answer whose files cannot be recorded is not kept as delivered', async () => {
    agent.state
      .database()
      .exec(`CREATE TRIGGER no_row BEFORE INSERT ON saved_files BEGIN SELECT RAISE(ABORT, 'no'); END`)
    const asked = { model: 'paint', prompt: 'Two boats.', variants: 2 }
    await expect(call('image_create', asked)).rejects.toBeInstanceOf(Error)
    const states = agent.state.database().prepare('SELECT state FROM paid_calls ORDER BY rowid DESC').all()
    expect(states[0]).toEqual({ state: 'lost' })
    // A text is told by its path all the same.
    expect((await agent.context().files.saveText('long', 'a')).path).toMatch(/\.txt$/)
    agent.state.database().exec('DROP TRIGGER no_row')
  })
})

interface Lying {
  mimeType: string
  content: Buffer
  /** That its row says. */
  bytes: number
}

const call = { tool: null, signal: new AbortController().signal }
const fixturesOf = (files: Files, savedFiles: SavedFiles) => ({ files, savedFiles, previews: new Previews(files) })

describe('a saved file is read as long as it is what it was', () => {
  const setUp = async ({ mimeType = 'image/png', content = png, bytes }: Partial<Lying> = {}) => {
    const root = await realpath(temporaryFolder())
    const output = join(root, 'output')
    await mkdir(output)
    const path = join(output, 'a.png')
    await writeFile(path, content)
    const saved = new SavedFiles(stateOf(), manualClock())
    saved.keep({ id: 'file_1', path, mimeType, bytes: bytes ?? content.length, model: null, tool: null })
    const fixtureOf = (folder: string) =>
      new ToolFiles(fixturesOf(new Files({ output: folder, inputs: [], state: join(root, 's') }), saved), call)
    return { root, output, path, fixtureOf, read: (address = 'file_1') => fixtureOf(output).readSaved(address) }
  }
  type Stage = Awaited<ReturnType<typeof setUp>>

  test('by its id and by its link', async () => {
    const { path, read } = await setUp()
    for (const address of ['file_1', pathToFileURL(path).href]) expect((await read(address))?.bytes).toEqual(png)
    expect(await read('file_2')).toBeNull()
  })

  const refused: [rule: string, does: (stage: Stage) => Promise<unknown>, says: RegExp][] = [
    ['is deleted', ({ path }) => rm(path), /^The saved file no longer exists: /],
    ['is cut', ({ path }) => truncate(path, 9), /^Another file is now/],
    ['is of another type', ({ path }) => writeFile(path, Buffer.alloc(png.length, 1)), /^Another file is now/],
    [
      'became a link',
      async ({ root, path }) => {
        await rename(path, join(root, 'b.png'))
        await symlink(join(root, 'b.png'), path)
      },
      /^The file is not in a folder that tools may read/,
    ],
    [
      'lies behind a folder that became a link',
      async ({ root, output }) => {
        await rename(output, join(root, 'moved'))
        await symlink(join(root, 'moved'), output)
      },
      /^The file is not in a folder that tools may read/,
    ],
    [
      'became a folder',
      async ({ path }) => {
        await rm(path)
        await mkdir(path)
      },
      /^This is not a file/,
    ],
  ]
  test.each(refused)('one that %s is reported, and not read', async (_rule, does, says) => {
    const stage = await setUp()
    await does(stage)
    await expect(stage.read()).rejects.toMatchObject({ facts: { happened: expect.stringMatching(says), charged: 0n } })
  })

  test('nor one whose folder is no longer the output folder', async () => {
    const { root, fixtureOf } = await setUp()
    await mkdir(join(root, 'other'))
    await expect(fixtureOf(join(root, 'other')).readSaved('file_1')).rejects.toThrow('tools may read')
  })

  test('nor one that is too large for a message, which is reported by its path', async () => {
    const { read, path } = await setUp({ bytes: resourceFileBytes + 1 })
    await expect(read()).rejects.toMatchObject({ facts: { next: `Ask the user to open it at ${path}` } })
  })

  test('a text has no type in its bytes', async () => {
    const { read } = await setUp({ mimeType: 'text/plain', content: Buffer.from('words') })
    expect((await read())?.bytes.toString()).toBe('words')
  })
})

describe('rows', () => {
  const one = (more: Partial<NewSavedFile> = {}): NewSavedFile => ({
    ...{ path: '/out/a.txt', mimeType: 'text/plain', bytes: 1, model: null, tool: null },
    ...more,
  })

  test('the same text keeps its id, and another file under a name that is free again has its own', () => {
    const saved = new SavedFiles(stateOf(), manualClock())
    saved.keep(one())
    const { id } = saved.list(1)[0] ?? {}
    saved.keep(one({ path: '/out/b.png', mimeType: 'image/png' }))
    saved.keep(one({ tool: 'web_read' }))
    expect(saved.list(5)).toMatchObject([{ id, tool: 'web_read' }, { path: '/out/b.png' }])
    const image = saved.at('/out/b.png')
    saved.keep(one({ path: '/out/b.png', mimeType: 'image/png' }))
    expect(saved.find(image?.id ?? '')).toBeNull()
    expect(saved.list(5)).toHaveLength(2)
  })

  test('the oldest go beyond their bound', () => {
    const state = stateOf()
    const saved = new SavedFiles(state, manualClock())
    saved.keep(one({ path: '/out/first' }))
    state.decide(db => {
      for (let at = 1; at <= keptSavedFiles; at++) insertSavedFile(db, one({ path: `/out/${at}` }), at)
    })
    expect(saved.list(2_000)).toHaveLength(keptSavedFiles)
    expect(saved.list(1)[0]?.path).toBe('/out/first')
    expect(saved.at('/out/1')).toBeNull()
  })
})
