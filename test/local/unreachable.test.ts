import { expect, test } from 'vitest'
import { chainFolderOf, makeChainFolder } from '#local/chain/folder.ts'
import { type ChainProgram, startChain } from '#local/chain/process.ts'
import { temporaryFolder } from '../temporary-folder.ts'

test.each(['ENETUNREACH', 'EPERM'])('a machine that cannot connect to itself (%s) is told so at once', async code => {
  const program: ChainProgram = {
    name: 'a chain',
    command: () => [process.execPath, '-e', 'setTimeout(() => {}, 30_000)'],
    portTaken: /never printed/,
    instanceOf: async () => {
      throw new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
    },
  }
  const folder = chainFolderOf(temporaryFolder('unreachable'))
  await makeChainFolder(folder)
  await expect(startChain(program, folder, 0)).rejects.toThrow(
    /^The local chain runs, but does not answer at http:\/\/127\.0\.0\.1:\d+; bring up this machine’s loopback interface/,
  )
})
