/** Addresses at which money would be lost are refused before anything is signed. */
import { expect, onTestFinished, test } from 'vitest'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import { tokenAccountOf } from '#wallet/chains/solana.ts'
import { readRecipient } from '#wallet/send/recipient.ts'
import { fakeNode, payee, solanaKey, stranger } from '../sample-solana.ts'

const mine = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
const own = ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', solanaKey.address]
const service = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'

/** Token accounts that a node tells of, by their addresses, each with its owner. */
async function nodesWith(
  accounts: Readonly<Record<string, string>> = {},
  { code = '0x', state = 1, mint = usdcOnSolana } = {},
) {
  const node = await fakeNode({
    eth_getCode: () => code,
    getAccountInfo: ([address]) => {
      const owner = accounts[String(address)]
      if (owner === undefined) return { context: { slot: 1 }, value: null }
      const data = Buffer.alloc(165)
      data.set(decodeBase58(mint, 32) ?? [], 0)
      data.set(decodeBase58(owner, 32) ?? [], 32)
      data[108] = state
      return { context: { slot: 1 }, value: { owner: tokenProgram, data: [data.toString('base64'), 'base64'] } }
    },
  })
  onTestFinished(() => void node.close())
  return { eip155: node.url, solana: node.url }
}

const not = { own, payees: [service] }

const refused: [what: string, address: string, says: RegExp][] = [
  ['no address', 'vitalik.eth', /not an address/],
  ['too short', mine.slice(0, 41), /not an address/],
  ['a mistyped character, by the checksum', mine.replace('d8dA', 'd8da'), /checksum.*EIP-55/],
  ['the zero address', `0x${'0'.repeat(40)}`, /has no key/],
  ['a precompiled contract', `0x${'0'.repeat(39)}4`, /has no key/],
  ['where tokens are burned', '0x000000000000000000000000000000000000dEaD', /has no key/],
  ['the token itself', usdcOnEvm, /token itself/],
  ['the token itself, in lower case', usdcOnEvm.toLowerCase(), /token itself/],
  ['an address of the wallet', String(own[0]).toLowerCase(), /address of this wallet/],
  ['where a service is paid', service, /payment address of a service/],
  ['the mint', usdcOnSolana, /token itself/],
  ['a program of Solana', tokenProgram, /has no key/],
  ['the system program', '1'.repeat(32), /has no key/],
  ['the wallet’s own address on Solana', solanaKey.address, /address of this wallet/],
  ['an address of Solana without a USDC account', stranger, /no USDC account/],
]

test.each(refused)('refused: %s', async (_, address, says) => {
  const work = readRecipient(address, not, await nodesWith())
  await expect(work).rejects.toMatchObject({ rule: 'recipient', sentence: expect.stringMatching(says) })
})

test('an EVM address is taken with its checksum, or without any', async () => {
  const nodes = await nodesWith()
  for (const text of [mine, mine.toLowerCase(), `0x${mine.slice(2).toUpperCase()}`])
    expect(await readRecipient(text, not, nodes)).toMatchObject({ payTo: mine, notes: [] })
})

test('a contract is named before it is confirmed', async () => {
  const { notes } = await readRecipient(mine, not, await nodesWith({}, { code: '0x6001' }))
  expect(notes).toEqual([expect.stringContaining('is a contract')])
})

test('an address of Solana with a USDC account is taken', async () => {
  const account = await tokenAccountOf(payee, usdcOnSolana)
  expect(await readRecipient(payee, not, await nodesWith({ [account]: payee }))).toMatchObject({ payTo: payee })
})

test('a USDC account stands for its owner, who is named', async () => {
  const account = await tokenAccountOf(payee, usdcOnSolana)
  const recipient = await readRecipient(account, not, await nodesWith({ [account]: payee }))
  expect(recipient).toMatchObject({ payTo: payee, notes: [expect.stringContaining(payee)] })
})

test('an account that was given away, is frozen, is additional, of another mint or of the wallet is refused', async () => {
  const account = await tokenAccountOf(payee, usdcOnSolana)
  const ours = await tokenAccountOf(solanaKey.address, usdcOnSolana)
  const cases = [
    [payee, await nodesWith({ [account]: stranger })],
    [payee, await nodesWith({ [account]: payee }, { state: 2 })],
    [stranger, await nodesWith({ [stranger]: payee })],
    [payee, await nodesWith({ [account]: payee }, { mint: stranger })],
    [ours, await nodesWith({ [ours]: solanaKey.address })],
  ] as const
  for (const [to, nodes] of cases)
    await expect(readRecipient(to, not, nodes)).rejects.toMatchObject({ rule: 'recipient' })
})

test('without a node nothing can be told, so nothing is taken', async () => {
  for (const address of [mine, payee])
    await expect(readRecipient(address, not, {})).rejects.toMatchObject({ rule: 'node' })
})
