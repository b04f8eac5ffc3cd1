import { readFile } from 'node:fs/promises'
import { getAddress } from 'viem'
import { expect, test } from 'vitest'
import { MINTER_ADDRESS } from '#local/evm/token.ts'
import { compiledContracts } from '../../scripts/compile-token.ts'

test.each(compiledContracts)('$path is what the compiler makes of its source', async ({ path, make }) => {
  expect(await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')).toBe(await make())
})

test('the minter of the source is the one that mints', async () => {
  const source = await readFile(new URL('../../src/local/token/usdc.sol', import.meta.url), 'utf8')
  expect(source).toContain(`minter = ${getAddress(MINTER_ADDRESS)}`)
})
