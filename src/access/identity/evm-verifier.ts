import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { hashMessage, isHex, recoverAddress, size } from 'viem/utils'
import { threadUrl } from '#host/threads/thread-entry.ts'

/** More signatures than the threads can look at within about a second, or no thread to look at them. */
export class VerifierBusy extends Error {
  constructor() {
    super('Too many signatures are waiting to be verified; try again in a second.')
    this.name = 'VerifierBusy'
  }
}

interface Waiting {
  request: RecoverRequest
  resolve(signer: string | null): void
  reject(error: Error): void
}

interface Thread {
  worker: Worker
  current: Waiting | null
}

/**
 * Recovers the signers of EVM messages on threads of its own, because 1.6 ms of curve arithmetic would hold up every
 * other request. Threads start with the first signature and are replaced when they die; none keeps the process alive.
 */
export class EvmVerifier {
  readonly #size: number
  readonly #onThreadFailure: (error: Error) => void
  #threads: Thread[] = []
  #waiting: Waiting[] = []
  #closed = false

  constructor(options: { threads?: number; onThreadFailure?: (error: Error) => void } = {}) {
    this.#size = options.threads ?? Math.max(1, Math.min(verifierThreads, availableParallelism() - 1))
    this.#onThreadFailure = options.onThreadFailure ?? (() => {})
  }

  /** The address in lower case, null if no key can have signed it. Rejects with `VerifierBusy`. */
  recover(message: string, signature: string): Promise<string | null> {
    if (this.#closed || this.#waiting.length >= waitingSignatures) return Promise.reject(new VerifierBusy())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request: { message, signature }, resolve, reject })
      this.#dispatch()
    })
  }

  /** Starts every thread now, so that the first caller does not wait 0.3 s for one. */
  warm(): void {
    while (!this.#closed && this.#startThread()) {
      // One more was started.
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const threads = this.#threads
    this.#threads = []
    for (const waiting of this.#waiting.splice(0)) waiting.reject(new VerifierBusy())
    for (const { current } of threads) current?.reject(new VerifierBusy())
    await Promise.all(threads.map(({ worker }) => worker.terminate()))
  }

  #dispatch(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#threads.find(each => each.current === null) ?? this.#startThread()
      if (!thread) return
      const next = this.#waiting.shift()
      if (!next) return
      thread.current = next
      thread.worker.ref()
      thread.worker.postMessage(next.request)
    }
  }

  #startThread(): Thread | null {
    if (this.#threads.length >= this.#size) return null
    const worker = new Worker(threadUrl('evm-signature-thread', import.meta.url), {
      name: 'evm-signatures',
      execArgv: [],
    })
    const thread: Thread = { worker, current: null }
    worker.unref()
    worker.on('message', ({ signer }: RecoverAnswer) => {
      const { current } = thread
      thread.current = null
      worker.unref()
      current?.resolve(signer)
      this.#dispatch()
    })
    // An error ends the thread; `exit` follows and is where it is replaced.
    worker.on('error', this.#onThreadFailure)
    worker.on('exit', () => this.#replace(thread))
    this.#threads.push(thread)
    return thread
  }

  #replace(thread: Thread): void {
    if (this.#closed) return
    this.#threads = this.#threads.filter(each => each !== thread)
    thread.current?.reject(new VerifierBusy())
    this.#dispatch()
  }
}

/** Half of the order of secp256k1. A signature with a larger `s` is the twin of another one, and wallets never make it. */
const largestS = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

const signatureBytes = 65

/** Whether a text can be a signature at all; nothing else reaches the curve arithmetic. */
export function isEvmSignature(signature: string): signature is `0x${string}` {
  if (!isHex(signature, { strict: true }) || size(signature) !== signatureBytes) return false
  if (signature.length !== 2 + 2 * signatureBytes) return false
  return BigInt(`0x${signature.slice(66, 130)}`) <= largestS
}

/** The address, in lower case, that signed a text by EIP-191; null if no key can have. Some 1.6 ms of one core. */
export async function recoverSigner(message: string, signature: string): Promise<string | null> {
  if (!isEvmSignature(signature)) return null
  try {
    const signer = await recoverAddress({ hash: hashMessage(message), signature })
    return signer.toLowerCase()
  } catch {
    // Not a point of the curve, or no such recovery bit: no key made this signature.
    return null
  }
}

/** Messages between the verifier and one of its threads, one request at a time. */
export interface RecoverRequest {
  message: string
  signature: string
}

export interface RecoverAnswer {
  /** In lower case; null if no key can have signed it. */
  signer: string | null
}

/** Threads that recover EVM signers, at most: one makes some 600 a second, and the engines want the other cores. */
const verifierThreads = 4

/** Signatures waiting for those threads: about a second of work for one; beyond it callers are told to retry. */
const waitingSignatures = 512
