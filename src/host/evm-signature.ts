import { loadKeccak256 } from './keccak.ts'
import { onceLoaded } from './packages.ts'
import { type KeyRecovery, keyRecovery } from './secp256k1.ts'

/** Half of the order of secp256k1, in hexadecimal. A signature with a larger `s` is the twin of another one, and wallets never make it. */
const largestS = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0'

const evmSignature = /^0x[\da-fA-F]{130}$/

/** Whether a text is 65 bytes with an `s` that wallets make: the only ones that reach the curve's arithmetic. */
export const isEvmSignature = (text: string): boolean => evmSignature.test(text) && hasLowS(text)

/** Whether the `s` of 65 bytes in hexadecimal is the lower one of the two that its twin signatures have. */
// Both texts are as long as each other, so their order is that of the numbers.
export const hasLowS = (signature: string): boolean => signature.slice(66, 130).toLowerCase() <= largestS

/** The last byte of a signature, as wallets write it, and which of two keys it means. */
const recoveryBits: Readonly<Record<string, 0 | 1>> = { '00': 0, '01': 1, '1b': 0, '1c': 1 }

export interface EvmSigners {
  /** The address in lower case whose key signed the digest of 32 bytes; null where no key can have. */
  ofDigest(digest: Uint8Array, signature: string): string | null
  /** The same for a text, which wallets sign by EIP-191. */
  ofMessage(message: string, signature: string): string | null
}

/** What recovers signers, loaded at the first use. */
export const evmSigners = onceLoaded(async () => evmSignersBy(await keyRecovery()))

export async function evmSignersBy(recovery: KeyRecovery): Promise<EvmSigners> {
  const keccak256 = await loadKeccak256()
  const ofDigest: EvmSigners['ofDigest'] = (digest, signature) => {
    if (!isEvmSignature(signature)) return null
    const bit = recoveryBits[signature.slice(130).toLowerCase()]
    if (bit === undefined) return null
    const key = recovery.keyOf(digest, Buffer.from(signature.slice(2, 130), 'hex'), bit)
    // The first byte says how the key is written; an address is the end of the hash of the rest.
    return key && `0x${Buffer.from(keccak256(key.subarray(1)).subarray(12)).toString('hex')}`
  }
  return {
    ofDigest,
    ofMessage(message, signature) {
      if (!isEvmSignature(signature)) return null
      const text = Buffer.from(message)
      const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${text.length}`)
      return ofDigest(keccak256(Buffer.concat([prefix, text])), signature)
    },
  }
}
