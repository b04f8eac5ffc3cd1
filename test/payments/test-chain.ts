import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeFunctionData, type Hex, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usdcOnEvm } from '#contract/wire/networks.ts'
import { askChain } from '#local/chain/process.ts'
import { findAnvilBinary } from '#local/evm/anvil.ts'
import { multicall3Code } from '#local/token/multicall3.generated.ts'
import { usdcAbi, usdcCode } from '#local/token/usdc.generated.ts'

export const tokenName = 'USD Coin (local)'
const multicall3 = '0xcA11bde05977b3631167028862bE2a173976CA11'
const minter = '0x0000000000000000000000000000FA2eB0C50001'
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export interface TestChain {
  url: string
  ask(method: string, params?: readonly unknown[]): Promise<unknown>
  mint(address: string, microUsd: bigint): Promise<void>
  /** Gas money. */
  fund(address: string): Promise<void>
  /** Sends from any address, without its key; answers its hash once a block has it. */
  sendAs(from: string, data: Hex): Promise<string>
  /** Transfers of the token to this address, as `[from, amount]`. */
  transfersTo(address: string): Promise<[string, bigint][]>
  /** The same with the transaction that each is in. */
  transactionsTo(address: string): Promise<{ from: string; amountMicroUsd: bigint; transaction: string }[]>
  stop(): Promise<void>
}

/** A chain of its own for one test file, with the token at Base's address. */
export async function startTestChain(): Promise<TestChain> {
  const anvil = spawn(findAnvilBinary(), ['--port', '0', '--chain-id', '8453', '--accounts', '1'])
  const url = await new Promise<string>((resolve, reject) => {
    anvil.once('exit', code => reject(new Error(`anvil ended with ${code}`)))
    createInterface(anvil.stdout).on('line', line => {
      const address = /Listening on (\S+)/.exec(line)?.[1]
      if (address) resolve(`http://${address}`)
    })
  })
  const ask = (method: string, params: readonly unknown[] = []) => askChain(url, method, params)
  const fund = async (address: string) => void (await ask('anvil_setBalance', [address, toHex(10n ** 19n)]))
  const sendAs = async (from: string, data: Hex) => {
    await ask('anvil_impersonateAccount', [from])
    const hash = String(await ask('eth_sendTransaction', [{ from, to: usdcOnEvm, data }]))
    // On a busy machine the block may come after the answer to the send.
    while ((await ask('eth_getTransactionReceipt', [hash])) === null) await sleep(10)
    return hash
  }
  const transactionsTo: TestChain['transactionsTo'] = async address => {
    const to = `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
    const filter = { address: usdcOnEvm, topics: [transferTopic, null, to], fromBlock: '0x0' }
    const logs = (await ask('eth_getLogs', [filter])) as { topics: string[]; data: string; transactionHash: string }[]
    return logs.map(({ topics, data, transactionHash }) => ({
      from: `0x${topics[1]?.slice(-40)}`,
      amountMicroUsd: BigInt(data),
      transaction: transactionHash,
    }))
  }
  await ask('anvil_setCode', [usdcOnEvm, usdcCode])
  await ask('anvil_setCode', [multicall3, multicall3Code])
  await fund(minter)
  await sendAs(minter, encodeFunctionData({ abi: usdcAbi, functionName: 'rename', args: [tokenName] }))
  return {
    url,
    ask,
    fund,
    sendAs,
    async mint(address, microUsd) {
      const args = [address as Hex, microUsd] as const
      await sendAs(minter, encodeFunctionData({ abi: usdcAbi, functionName: 'mint', args }))
    },
    transactionsTo,
    async transfersTo(address) {
      return (await transactionsTo(address)).map(({ from, amountMicroUsd }) => [from, amountMicroUsd])
    },
    async stop() {
      if (anvil.exitCode !== null || anvil.signalCode !== null) return
      const exit = once(anvil, 'exit')
      anvil.kill()
      await exit
    },
  }
}

export const newAccount = () => privateKeyToAccount(generatePrivateKey())
