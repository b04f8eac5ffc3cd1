import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { oldPartMs } from '#agent/bounds.ts'
import { sweepParts } from '#agent/media/saved-files.ts'
import { openState } from '#wallet/records/state.ts'
import { openAgent, temporaryFolder } from './open-agent.ts'

const child = fileURLToPath(new URL('./saving-child.ts', import.meta.url))
const ids = { job: 'job_0123456789abcdef', call: 'call_0123456789abcdef' }
const uuid = '01234567-89ab-4def-8123-456789abcdef'
const endedPid = spawnSync(process.execPath, ['-e', '']).pid
const nowMs = Date.now()
const old = new Date(nowMs - oldPartMs - 1_000)

async function folderOf(files: Record<string, Date | null>): Promise<string> {
  const folder = temporaryFolder()
  for (const [name, at] of Object.entries(files)) {
    await writeFile(join(folder, name), 'half')
    if (at) await utimes(join(folder, name), at, at)
  }
  return folder
}

function freshState() {
  const state = openState(temporaryFolder())
  onTestFinished(() => state.close())
  return state
}

test('only our own partial files that are unchanged for a day are removed', async () => {
  const stay = {
    '.job_aaaaaaaaaaaaaaaa.part': null,
    [`.${ids.call}.part.json`]: old,
    [`.${ids.call}.part`]: null,
    '.job_short.part': old,
    '.job_iiiiiiiiiiiiiiii.part': old,
    'job_0123456789abcdef.part': old,
    '.job_0123456789abcdef.part.txt': old,
    [`.0123456789ab-${uuid}.part`]: old,
    '.vimrc.part': old,
    'video.mp4': old,
  }
  const folder = await folderOf({
    ...stay,
    [`.${ids.job}.part`]: old,
    [`.${ids.job}.part.json`]: old,
    [`.0123456789ab-${endedPid}-${uuid}.part`]: old,
    '.call_bbbbbbbbbbbbbbbb.part': old,
  })
  await mkdir(join(folder, '.job_cccccccccccccccc.part'))
  await utimes(join(folder, '.job_cccccccccccccccc.part'), old, old)
  await sweepParts(folder, freshState(), nowMs)
  expect((await readdir(folder)).sort()).toEqual([...Object.keys(stay), '.job_cccccccccccccccc.part'].sort())
})

test('a missing folder does not prevent saving', async () => {
  await sweepParts(join(temporaryFolder(), 'none'), freshState(), nowMs)
})

test('what a running process has stays, and goes once that one has died', async () => {
  const dataFolder = temporaryFolder()
  const running: ChildProcess = fork(child, [dataFolder, ids.job, ids.call])
  onTestFinished(() => void running.kill('SIGKILL'))
  await once(running, 'message')
  const parts = [`.${ids.job}.part`, `.${ids.call}.part`, `.0123456789ab-${running.pid}-${uuid}.part`]
  const outputFolder = await folderOf(Object.fromEntries(parts.map(name => [name, old])))
  const save = async (text: string) => {
    const agent = await openAgent({ baseUrl: 'http://127.0.0.1:9/api/v1', dataFolder, outputFolder })
    await agent.context().files.saveText(text, 'a')
    await agent.client.close()
    agent.state.close()
  }
  const left = async () => (await readdir(outputFolder)).filter(name => name.endsWith('.part')).sort()
  await save('one')
  expect(await left()).toEqual(parts.toSorted())
  running.kill('SIGKILL')
  await once(running, 'exit')
  await save('two')
  expect(await left()).toEqual([])
}, 60_000)
