import { verify } from 'node:crypto'
import {
  type Address,
  address,
  type CompiledTransactionMessage,
  createKeyPairSignerFromPrivateKeyBytes,
  getAddressEncoder,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type KeyPairSigner,
  lamports,
  type Transaction,
} from '@solana/kit'
import { COMPUTE_BUDGET_PROGRAM_ADDRESS } from '@solana-program/compute-budget'
import type { LiteSVM } from 'litesvm'
import {
  type Executed,
  hasPaidItsFee,
  NodeError,
  nodeCodes,
  type TransactionError,
  transactionError,
} from './executed.ts'
import { Slots } from './slots.ts'
import type { ChainState } from './state-file.ts'
import { type NodeAccount, readDecimals, readTokenAccount, tokenAmount } from './token.ts'

type Litesvm = typeof import('litesvm')

/** Transactions to remember; older ones are forgotten, as by any node without an archive. */
const keptTransactions = 10_000

interface Simulation {
  err: TransactionError | null
  logs: string[]
  units: number
}

interface Decoded {
  transaction: Transaction
  message: ReturnType<ReturnType<typeof getCompiledTransactionMessageDecoder>['decode']>
  signature: string
  bytes: Uint8Array
}

/** A single-node Solana network in this process: litesvm runs the programs, and blocks follow the clock. */
export class SolanaNode {
  readonly slots: Slots
  /** May mint tokens, and has more SOL than it can spend. */
  readonly faucet: KeyPairSigner
  readonly #litesvm: Litesvm
  readonly #svm: LiteSVM
  readonly #seed: string
  readonly #faucetKey: string
  readonly #touched: Set<Address>
  /** In the order of execution. */
  readonly #executed: Map<string, Executed>
  /** Executed messages, regardless of their signatures: a message is executed once. */
  readonly #messages: Set<string>

  private constructor(litesvm: Litesvm, faucet: KeyPairSigner, state: ChainState) {
    this.#litesvm = litesvm
    // Blockhashes and repeats are checked here: litesvm knows one blockhash at a time, and forgets everything with its
    // process.
    this.#svm = new litesvm.LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n)
    this.slots = new Slots(state)
    this.faucet = faucet
    this.#seed = state.seed
    this.#faucetKey = state.faucet
    this.#executed = new Map(state.executed.map(each => [each.signature, each]))
    this.#messages = new Set(state.executed.map(({ transaction }) => messageIn(Buffer.from(transaction, 'base64'))))
    this.#touched = new Set()
    for (const { address: at, lamports: balance, owner, executable, data } of state.accounts) {
      const account = { lamports: BigInt(balance), data: Buffer.from(data, 'base64'), programAddress: address(owner) }
      this.setAccount(address(at), { ...account, executable })
    }
  }

  static async open(state: ChainState): Promise<SolanaNode> {
    const litesvm = await import('litesvm')
    const faucet = await createKeyPairSignerFromPrivateKeyBytes(Buffer.from(state.faucet, 'hex'))
    return new SolanaNode(litesvm, faucet, state)
  }

  state(): ChainState {
    const accounts = [...this.#touched].flatMap(at => {
      const account = this.account(at)
      // Programs belong to litesvm, and are restored with it.
      if (!account || account.executable) return []
      const { lamports: balance, programAddress, executable, data } = account
      const base64 = Buffer.from(data).toString('base64')
      return [{ address: at, lamports: `${balance}`, owner: programAddress, executable, data: base64 }]
    })
    const height = this.slots.heightAt()
    const executed = [...this.#executed.values()]
    return { version: 1, seed: this.#seed, height, faucet: this.#faucetKey, accounts, executed }
  }

  /** Returns null if it does not exist. */
  account(at: Address): NodeAccount | null {
    const account = this.#svm.getAccount(at)
    return account.exists ? { ...account, data: new Uint8Array(account.data) } : null
  }

  accountsOf(program: Address): { address: Address; account: NodeAccount }[] {
    return this.#svm
      .getProgramAccounts(program)
      .map(account => ({ address: account.address, account: { ...account, data: new Uint8Array(account.data) } }))
  }

  setAccount(at: Address, account: NodeAccount): void {
    this.#touched.add(at)
    const space = BigInt(account.data.length)
    this.#svm.setAccount({ ...account, address: at, lamports: lamports(account.lamports), space })
  }

  rentFor(bytes: number): bigint {
    return this.#svm.minimumBalanceForRentExemption(BigInt(bytes))
  }

  /** Creates SOL out of nothing. */
  airdrop(at: Address, amount: bigint): void {
    const account = this.account(at)
    const programAddress = account?.programAddress ?? address('11111111111111111111111111111111')
    const data = account?.data ?? new Uint8Array()
    const executable = account?.executable ?? false
    this.setAccount(at, { lamports: (account?.lamports ?? 0n) + amount, data, programAddress, executable })
  }

  executedOf(signature: string): Executed | null {
    return this.#executed.get(signature) ?? null
  }

  /** Newest first. */
  executedWith(at: string): Executed[] {
    return [...this.#executed.values()].filter(({ accounts }) => accounts.includes(at)).reverse()
  }

  /**
   * `checks` says whether signatures and the blockhash are verified. Throws `NodeError` if the bytes are not a
   * transaction.
   */
  simulate(bytes: Uint8Array, checks: { signatures: boolean; blockhash: boolean }): Simulation {
    return this.#simulate(this.#decode(bytes), checks)
  }

  /**
   * Behaves like a node: with a preflight, a transaction that cannot succeed is refused; without, its signature is
   * returned whatever happens. A repeat is executed once. Throws `NodeError`.
   */
  send(bytes: Uint8Array, preflight: boolean): string {
    const decoded = this.#decode(bytes)
    const { signature } = decoded
    if (!this.#isSigned(decoded)) {
      throw new NodeError(nodeCodes.signatureFailed, 'Transaction signature verification failure')
    }
    if (preflight) {
      const { err, logs, units } = this.#simulate(decoded, { signatures: true, blockhash: true })
      if (err !== null) {
        const data = { err, logs, unitsConsumed: units, accounts: null, returnData: null, innerInstructions: null }
        throw new NodeError(nodeCodes.preflightFailed, `Transaction simulation failed: ${JSON.stringify(err)}`, data)
      }
    }
    if (!this.#messages.has(messageIn(bytes)) && this.slots.isValid(decoded.message.lifetimeToken))
      this.#execute(decoded)
    return signature
  }

  #decode(bytes: Uint8Array): Decoded {
    try {
      const transaction = getTransactionDecoder().decode(bytes)
      const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
      const [first] = Object.values(transaction.signatures)
      return { transaction, message, signature: getBase58Decoder().decode(first ?? new Uint8Array(64)), bytes }
    } catch {
      throw new NodeError(nodeCodes.invalidParams, 'failed to deserialize solana_transaction::versioned')
    }
  }

  #isSigned({ transaction }: Decoded): boolean {
    return Object.entries(transaction.signatures).every(([signer, signature]) => {
      if (!signature) return false
      const x = Buffer.from(getAddressEncoder().encode(address(signer))).toString('base64url')
      const key = { key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' } as const
      try {
        return verify(null, new Uint8Array(transaction.messageBytes), key, signature)
      } catch {
        return false
      }
    })
  }

  #simulate(decoded: Decoded, checks: { signatures: boolean; blockhash: boolean }): Simulation {
    const refused = (err: string): Simulation => ({ err, logs: [], units: 0 })
    if (checks.signatures && !this.#isSigned(decoded)) return refused('SignatureFailure')
    if (checks.blockhash && !this.slots.isValid(decoded.message.lifetimeToken)) return refused('BlockhashNotFound')
    if (this.#messages.has(messageIn(decoded.bytes))) return refused('AlreadyProcessed')
    this.#setClock()
    this.#svm.withSigverify(false)
    const result = this.#svm.simulateTransaction(decoded.transaction)
    const err = result instanceof this.#litesvm.FailedTransactionMetadata ? transactionError(result) : null
    return { err, logs: result.meta().logs(), units: Number(result.meta().computeUnitsConsumed()) }
  }

  #execute(decoded: Decoded): void {
    const accounts = decoded.message.staticAccounts
    this.#setClock()
    const before = this.#balancesOf(accounts)
    this.#svm.withSigverify(true)
    const result = this.#svm.sendTransaction(decoded.transaction)
    const isFailed = result instanceof this.#litesvm.FailedTransactionMetadata
    const err = isFailed ? transactionError(result) : null
    if (err !== null && !hasPaidItsFee(err)) return
    const meta = isFailed ? result.meta() : result
    for (const each of accounts) this.#touched.add(each)
    this.#messages.add(messageIn(decoded.bytes))
    const after = this.#balancesOf(accounts)
    this.#executed.set(decoded.signature, {
      signature: decoded.signature,
      slot: this.slots.slotAt(),
      height: this.slots.heightAt(),
      atSeconds: Math.floor(Date.now() / 1000),
      transaction: Buffer.from(decoded.bytes).toString('base64'),
      accounts: [...accounts],
      err,
      fee: feeOf(decoded.message),
      units: Number(meta.computeUnitsConsumed()),
      logs: meta.logs(),
      preBalances: before.lamports,
      postBalances: after.lamports,
      preTokenBalances: before.tokens,
      postTokenBalances: after.tokens,
    })
    const [oldest] = this.#executed.values()
    if (this.#executed.size <= keptTransactions || !oldest) return
    this.#executed.delete(oldest.signature)
    this.#messages.delete(messageIn(Buffer.from(oldest.transaction, 'base64')))
  }

  #balancesOf(accounts: readonly Address[]) {
    const found = accounts.map(each => this.account(each))
    const tokens = found.flatMap((account, accountIndex) => {
      const token = readTokenAccount(account)
      const decimals = token ? readDecimals(this.account(token.mint)) : null
      if (!account || !token || decimals === null) return []
      const { mint, owner, amount } = token
      const programId: string = account.programAddress
      return [{ accountIndex, mint, owner, programId, uiTokenAmount: tokenAmount(amount, decimals) }]
    })
    return { lamports: found.map(account => Number(account?.lamports ?? 0n)), tokens }
  }

  #setClock(): void {
    const clock = this.#svm.getClock()
    clock.slot = BigInt(this.slots.slotAt())
    clock.unixTimestamp = BigInt(Math.floor(Date.now() / 1000))
    this.#svm.setClock(clock)
  }
}

/** Returns the signed part of a transaction, as text. */
const messageIn = (bytes: Uint8Array): string =>
  Buffer.from(getTransactionDecoder().decode(bytes).messageBytes).toString('base64')

const lamportsPerSignature = 5_000
const microLamports = 1_000_000n

/** Returns what a transaction costs its fee payer, in lamports: a fee per signature, plus the priority fee. */
function feeOf(message: CompiledTransactionMessage): number {
  let [units, price] = [200_000n * BigInt(message.instructions.length), 0n]
  for (const { programAddressIndex, data } of message.instructions) {
    if (message.staticAccounts[programAddressIndex] !== COMPUTE_BUDGET_PROGRAM_ADDRESS || !data) continue
    const bytes = Buffer.from(data)
    if (bytes[0] === 2 && bytes.length === 5) units = BigInt(bytes.readUInt32LE(1))
    if (bytes[0] === 3 && bytes.length === 9) price = bytes.readBigUInt64LE(1)
  }
  const priority = (units * price + microLamports - 1n) / microLamports
  return message.header.numSignerAccounts * lamportsPerSignature + Number(priority)
}
