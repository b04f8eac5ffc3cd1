/** Attacks on the account that pays the fees: what its key must not sign, though the payer has. No node is asked about any. */
import { AccountRole, address, type Instruction } from '@solana/kit'
import { afterAll, beforeAll, test } from 'vitest'
import { usdcAccountOf } from '#local/solana/token.ts'
import { type Attack, Attacked, attackWays } from './svm-attacked.ts'
import { limit, memo, named, price, transferOf } from './svm-transactions.ts'

let attacked: Attacked
beforeAll(async () => {
  attacked = await Attacked.open()
})
afterAll(() => attacked.close())

const { add, draft, message, transfer } = attackWays(() => attacked)

const lighthouse = address('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95')
const systemProgram = address('11111111111111111111111111111111')
const associatedTokenProgram = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL')
const token2022 = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb')

const { READONLY_SIGNER, WRITABLE, WRITABLE_SIGNER } = AccountRole
const feePayer = (role?: AccountRole) => named(attacked.world.feePayer.address, role)
const payer = (role: AccountRole = READONLY_SIGNER) => named(attacked.account.address, role)
const stranger = (role?: AccountRole) => named(attacked.stranger.address, role)

const instruction = (programAddress: string, accounts: Instruction['accounts'], ...data: number[]): Instruction => ({
  programAddress: address(programAddress),
  accounts: accounts ?? [],
  data: Buffer.from(data),
})

const oneLamport = [2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
const amount = [1, 0, 0, 0, 0, 0, 0, 0]

/** Another instruction in the place of the first, the limit. */
const limitAs = (other: Instruction) => draft(made => made.instructions.splice(0, 1, other))
/** Changes the honest transfer. */
const transferAs = (change: (whole: Instruction) => Partial<Instruction>) =>
  draft(async made => {
    const whole = await transferOf(attacked.account, attacked.world.payee.address)
    made.instructions[2] = { ...whole, ...change(whole) }
  })
const memoAs = (...accounts: (() => ReturnType<typeof named>)[]) =>
  draft(made =>
    made.instructions.splice(
      3,
      1,
      memo(
        'x',
        accounts.map(each => each()),
      ),
    ),
  )

const attacks: Attack[] = [
  [
    '23',
    'the fee payer as the authority of the transfer',
    draft(async made => {
      const source = await usdcAccountOf(attacked.world.feePayer.signer.address)
      const terms = { source, authority: attacked.world.feePayer.address }
      made.instructions[2] = await transferOf(attacked.account, attacked.world.payee.address, terms)
      made.instructions[3] = memo('x', [payer()])
    }),
    'fee_payer_named',
  ],
  [
    '23',
    'an authority that does not sign, beside a payer who does',
    draft(async made => {
      const whole = await transferOf(attacked.account, attacked.world.payee.address)
      made.instructions[2] = { ...whole, accounts: [...(whole.accounts ?? []).slice(0, 3), stranger()] }
      made.instructions[3] = memo('x', [payer()])
    }),
    'instruction_not_allowed',
  ],
  [
    '23',
    'the fee payer alone, paying for itself',
    draft(async made => {
      made.instructions[2] = await transferOf(attacked.world.feePayer, attacked.world.payee.address)
    }),
    'wrong_signers',
  ],
  [
    '24',
    'a transfer of the fee payer’s SOL',
    add(() => instruction(systemProgram, [feePayer(WRITABLE_SIGNER), payer(WRITABLE)], ...oneLamport)),
    'fee_payer_named',
  ],
  [
    '24',
    'a transfer of SOL of the payer’s own',
    add(() => instruction(systemProgram, [payer(WRITABLE_SIGNER), stranger(WRITABLE)], ...oneLamport)),
    'instruction_not_allowed',
  ],
  [
    '24',
    'a token account whose rent the fee payer pays',
    add(() => instruction(associatedTokenProgram, [feePayer(WRITABLE_SIGNER), stranger(WRITABLE)], 1)),
    'fee_payer_named',
  ],
  [
    '24',
    'a token account whose rent the payer pays',
    add(() => instruction(associatedTokenProgram, [payer(WRITABLE_SIGNER), stranger(WRITABLE)], 1)),
    'instruction_not_allowed',
  ],
  [
    '25',
    'a price of 5,000,000 for 1,400,000 units',
    draft(made => made.instructions.splice(0, 2, limit(1_400_000), price(5_000_000n))),
    'compute_too_high',
  ],
  ['25', 'one unit more than is paid for', limitAs(limit(200_001)), 'compute_too_high'],
  [
    '25',
    'a price one higher than is paid',
    draft(made => made.instructions.splice(1, 1, price(50_001n))),
    'compute_too_high',
  ],
  [
    '25',
    'the highest price that can be said',
    draft(made => made.instructions.splice(1, 1, price(2n ** 64n - 1n))),
    'compute_too_high',
  ],
  [
    '25',
    'no limit, so that the network’s own would count',
    draft(made => made.instructions.shift()),
    'instruction_not_allowed',
  ],
  ['25', 'two limits', add(() => limit(10_000)), 'instruction_not_allowed'],
  ['25', 'two prices', add(() => price(2n)), 'instruction_not_allowed'],
  [
    '25',
    'a larger heap',
    add(() => instruction(limit(0).programAddress, [], 1, 0, 0, 4, 0)),
    'instruction_not_allowed',
  ],
  [
    '25',
    'a limit with a byte too many',
    limitAs(instruction(limit(0).programAddress, [], 2, 1, 0, 0, 0, 0)),
    'instruction_not_allowed',
  ],
  ['26', 'a memo that names the fee payer', memoAs(feePayer), 'fee_payer_named'],
  ['26', 'a memo that names the payee', memoAs(() => named(attacked.world.payee.address)), 'instruction_not_allowed'],
  [
    '26',
    'a write of memory by Lighthouse that the fee payer pays for',
    add(() => instruction(lighthouse, [stranger(WRITABLE), feePayer(WRITABLE_SIGNER)], 0, 1)),
    'wallet_guard',
  ],
  [
    '26',
    'an assertion by Lighthouse, which can fail at our expense',
    add(() => instruction(lighthouse, [payer()], 3)),
    'wallet_guard',
  ],
  [
    '26',
    'an assertion by Lighthouse about the fee payer, as Phantom adds it before the transfer',
    draft(made => made.instructions.splice(2, 0, instruction(lighthouse, [feePayer()], 5, 0, 0, 1))),
    'wallet_guard',
  ],
  ['26', 'the fee payer as a program', message(made => withProgram(made, 0)), 'fee_payer_named'],
  [
    '27',
    'a third signer',
    draft(made => {
      made.instructions[3] = memo('x', [payer(), stranger(READONLY_SIGNER)])
      made.signers.push(attacked.stranger)
    }),
    'wrong_signers',
  ],
  [
    '27',
    'an address lookup table',
    message(made => Buffer.concat([made.subarray(0, -1), Buffer.of(1), Buffer.alloc(32, 7), Buffer.of(1, 0, 0)])),
    'lookup_tables',
  ],
  [
    '27',
    'another fee payer than ours',
    draft(made => {
      made.feePayer = attacked.stranger.address
    }),
    'wrong_fee_payer',
  ],
  [
    'X16',
    'two transfers',
    draft(async made =>
      made.instructions.push(await transferOf(attacked.account, attacked.world.payee.address, { amount: 1n })),
    ),
    'instruction_not_allowed',
  ],
  [
    'X16',
    'no transfer',
    draft(made => made.instructions.splice(2, 2, memo('x', [payer()]))),
    'instruction_not_allowed',
  ],
  [
    'X16',
    'a plain transfer, which names no token',
    transferAs(({ accounts = [] }) => ({
      accounts: accounts.filter((_, place) => place !== 1),
      data: Buffer.from([3, ...amount]),
    })),
    'instruction_not_allowed',
  ],
  [
    'X16',
    'an approval of the payer’s tokens',
    transferAs(() => ({ data: Buffer.from([13, ...amount, 6]) })),
    'instruction_not_allowed',
  ],
  [
    'X16',
    'a transfer of a wallet of several owners',
    transferAs(({ accounts = [] }) => ({ accounts: [...accounts, payer()] })),
    'instruction_not_allowed',
  ],
  [
    'X16',
    'a transfer with a byte too many',
    transferAs(({ data }) => ({ data: Buffer.from([...(data ?? []), 0]) })),
    'instruction_not_allowed',
  ],
  ['X16', 'a transfer by the other token program', transfer(() => ({ program: token2022 })), 'instruction_not_allowed'],
  [
    'X16',
    'a durable nonce, with which a transaction never expires',
    draft(made => made.instructions.unshift(instruction(systemProgram, [stranger(WRITABLE), payer()], 4, 0, 0, 0))),
    'instruction_not_allowed',
  ],
  ['X16', 'two memos', add(() => memo('again')), 'instruction_not_allowed'],
  [
    'X16',
    'an account that no instruction uses',
    message(made => Buffer.concat([withOneMoreAccount(made)])),
    'stray_account',
  ],
  ['X16', 'an instruction of an account that is not there', message(made => withProgram(made, 99)), 'stray_account'],
]

/** Where the memo begins, which is the last instruction: its program, no accounts, and its text up to the tables' count. */
function memoAt(made: Buffer): number {
  for (let at = made.length - 4; at > 0; at--) {
    if (made[at + 1] === 0 && made[at + 2] === made.length - at - 4) return at
  }
  throw new Error('the message has no memo at its end')
}

function withProgram(made: Buffer, place: number): Buffer {
  made[memoAt(made)] = place
  return made
}

/** At the end of the accounts, read and not written, so that the places of the others stay. */
function withOneMoreAccount(made: Buffer): Buffer {
  const count = made[4] ?? 0
  const end = 5 + 32 * count
  const header = Buffer.of(made[0] ?? 0, made[1] ?? 0, made[2] ?? 0, (made[3] ?? 0) + 1, count + 1)
  return Buffer.concat([header, made.subarray(5, end), Buffer.alloc(32, 5), made.subarray(end)])
}

test.each(attacks)('%s: %s', async (_rule, _attack, payment, reason) => {
  await attacked.expectRefusal(await payment(), reason)
})

test('none of them moved or credited anything, cost a fee, or left a row', () => attacked.expectUntouched())
