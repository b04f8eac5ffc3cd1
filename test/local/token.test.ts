import { domainSeparator, type Hex, hexToBigInt, numberToHex, parseSignature, serializeSignature } from 'viem'
import { beforeAll, expect, test } from 'vitest'
import { type LocalEvmChain, startLocalEvmChain } from '#local/evm/chain.ts'
import { usdcAbi } from '#local/token/usdc.generated.ts'
import { chainClient, newAccount } from './stock-payment.ts'
import { ownDataDir } from './temporary-chain.ts'

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const FAR_S = 4_000_000_000n

let chain: LocalEvmChain
let client: ReturnType<typeof chainClient>

beforeAll(async () => {
  const { dataDir, remove } = await ownDataDir()
  chain = await startLocalEvmChain({ dataDir })
  client = chainClient(chain)
  return async () => {
    await chain.stop()
    await remove()
  }
})

interface Authorization {
  from: Hex
  to: Hex
  value: bigint
  validAfter: bigint
  validBefore: bigint
  nonce: Hex
}

type Kind = 'TransferWithAuthorization' | 'ReceiveWithAuthorization'

const fields = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const

const domain = (name = chain.tokenName, chainId: number = chain.chainId) => ({
  name,
  version: chain.tokenVersion,
  chainId,
  verifyingContract: chain.tokenAddress,
})

const randomNonce = (): Hex => newAccount().address.padEnd(66, '0') as Hex

async function signed(change: Partial<Authorization> = {}, kind: Kind = 'TransferWithAuthorization', on = domain()) {
  const payer = newAccount()
  await chain.mintUsdc(payer.address, 1_000n)
  const message = {
    from: payer.address,
    to: newAccount().address,
    value: 600n,
    validAfter: 0n,
    validBefore: FAR_S,
    nonce: randomNonce(),
    ...change,
  }
  const signature = await payer.signTypedData({ domain: on, types: { [kind]: fields }, primaryType: kind, message })
  return { payer, message, signature }
}

const transferArguments = ({ from, to, value, validAfter, validBefore, nonce }: Authorization) =>
  [from, to, value, validAfter, validBefore, nonce] as const

const simulate = (message: Authorization, signature: Hex) =>
  client.simulateContract({
    address: chain.tokenAddress,
    abi: usdcAbi,
    functionName: 'transferWithAuthorization',
    args: [...transferArguments(message), signature],
    account: newAccount().address,
  })

function mirrored(signature: Hex): Hex {
  const { r, s, yParity } = parseSignature(signature)
  return serializeSignature({ r, s: numberToHex(CURVE_ORDER - hexToBigInt(s), { size: 32 }), yParity: 1 - yParity })
}

test('a good authorization passes, and the same with its s mirrored does not', async () => {
  const { message, signature } = await signed()
  await expect(simulate(message, signature)).resolves.toBeDefined()
  await expect(simulate(message, mirrored(signature))).rejects.toThrow('invalid signature')
})

const nowS = () => BigInt(Math.floor(Date.now() / 1000))

test.each<[string, () => Partial<Authorization>, string]>([
  ['expired', () => ({ validBefore: nowS() - 60n }), 'authorization is expired'],
  ['from later on', () => ({ validAfter: nowS() + 600n }), 'authorization is not yet valid'],
  ['over more than the balance', () => ({ value: 1_001n }), 'transfer amount exceeds balance'],
  ['to nobody', () => ({ to: `0x${'0'.repeat(40)}` }), 'transfer to the zero address'],
])('an authorization %s is refused', async (_what, change, reason) => {
  const { message, signature } = await signed(change())
  await expect(simulate(message, signature)).rejects.toThrow(reason)
})

test.each<[keyof Authorization, Partial<Authorization>]>([
  ['to', { to: newAccount().address }],
  ['value', { value: 601n }],
  ['validBefore', { validBefore: FAR_S + 1n }],
  ['nonce', { nonce: randomNonce() }],
  ['from', { from: newAccount().address }],
])('an authorization whose %s was changed after signing is refused', async (_field, change) => {
  const { message, signature } = await signed()
  await expect(simulate({ ...message, ...change }, signature)).rejects.toThrow('invalid signature')
})

test.each<[string, (signature: Hex) => Hex]>([
  ['cut short', signature => signature.slice(0, -2) as Hex],
  ['with a byte too many', signature => `${signature}00`],
  ['with v as parity', signature => `${signature.slice(0, -2)}0${parseSignature(signature).yParity}` as Hex],
  ['of zeros', () => `0x${'0'.repeat(128)}1b`],
])('a signature %s is refused', async (_what, spoil) => {
  const { message, signature } = await signed()
  await expect(simulate(message, spoil(signature))).rejects.toThrow('invalid signature')
})

test('what is signed here is signed for another domain than USDC on Base', async () => {
  const separator = await client.readContract({
    address: chain.tokenAddress,
    abi: usdcAbi,
    functionName: 'DOMAIN_SEPARATOR',
  })
  expect(separator).toBe(domainSeparator({ domain: domain() }))
  expect(separator).not.toBe(domainSeparator({ domain: domain('USD Coin') }))
  const forBase = await signed({}, 'TransferWithAuthorization', domain('USD Coin'))
  await expect(simulate(forBase.message, forBase.signature)).rejects.toThrow('invalid signature')
  const elsewhere = await signed({}, 'TransferWithAuthorization', domain(chain.tokenName, 84_532))
  await expect(simulate(elsewhere.message, elsewhere.signature)).rejects.toThrow('invalid signature')
})

test('only the payee receives with an authorization to receive', async () => {
  const { message, signature } = await signed({}, 'ReceiveWithAuthorization')
  const receive = (account: Hex) =>
    client.simulateContract({
      address: chain.tokenAddress,
      abi: usdcAbi,
      functionName: 'receiveWithAuthorization',
      args: [...transferArguments(message), signature],
      account,
    })
  await expect(receive(message.to)).resolves.toBeDefined()
  await expect(receive(newAccount().address)).rejects.toThrow('caller must be the payee')
  await expect(simulate(message, signature)).rejects.toThrow('invalid signature')
})

test('a canceled authorization is spent', async () => {
  const { payer, message, signature } = await signed()
  const cancellation = await payer.signTypedData({
    domain: domain(),
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: payer.address, nonce: message.nonce },
  })
  const [sender, call] = [newAccount(), { address: chain.tokenAddress, abi: usdcAbi } as const]
  await chain.fundEth(sender.address)
  const { r, s, v } = parseSignature(cancellation)
  const hash = await client.writeContract({
    ...call,
    functionName: 'cancelAuthorization',
    args: [payer.address, message.nonce, Number(v), r, s],
    account: sender,
  })
  expect(await client.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success' })
  await expect(simulate(message, signature)).rejects.toThrow('authorization is used or canceled')
  const args = [payer.address, message.nonce] as const
  expect(await client.readContract({ ...call, functionName: 'authorizationState', args })).toBe(true)
})

test('only the minter can mint or rename', async () => {
  const call = { address: chain.tokenAddress, abi: usdcAbi, account: newAccount().address } as const
  const mint = client.simulateContract({ ...call, functionName: 'mint', args: [call.account, 1n] })
  await expect(mint).rejects.toThrow('caller is not the minter')
  const rename = client.simulateContract({ ...call, functionName: 'rename', args: ['USD Coin'] })
  await expect(rename).rejects.toThrow('caller is not the minter')
})

test('it reads as USDC does', async () => {
  const call = { address: chain.tokenAddress, abi: usdcAbi } as const
  expect(await client.readContract({ ...call, functionName: 'name' })).toBe('USD Coin (local)')
  expect(await client.readContract({ ...call, functionName: 'version' })).toBe('2')
  expect(await client.readContract({ ...call, functionName: 'symbol' })).toBe('USDC')
  expect(await client.readContract({ ...call, functionName: 'decimals' })).toBe(6)
})
