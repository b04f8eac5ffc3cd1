import { onceLoaded } from './packages.ts'

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

interface EvmSigners {
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

/** Recovers the key that made a signature on the curve secp256k1. */
interface KeyRecovery {
  readonly by: 'addon' | 'wasm' | 'script'
  /**
   * The key, in 65 bytes, of a signature of 64 bytes (`r` and `s`) over a digest of 32. Null where no key can have made
   * it: `r` or `s` is zero or not below the order, `r` is no point's `x`, or the key would be no point.
   */
  keyOf(digest: Uint8Array, signature: Uint8Array, bit: 0 | 1): Uint8Array | null
}

type Recover = (digest: Uint8Array, signature: Uint8Array, bit: 0 | 1) => Uint8Array | null

/** The ways to do it, by their names; the fastest first. Each rejects where it cannot be had here. */
export const recoveries = {
  addon: async () => recoveryBy('addon', await addon()),
  wasm: async () => recoveryBy('wasm', await wasm()),
  script: async () => recoveryBy('script', await script()),
}

/** The fastest way that can be had here. */
export const keyRecovery = onceLoaded(() =>
  recoveries.addon().catch(() => recoveries.wasm().catch(() => recoveries.script())),
)

interface Addon {
  ecdsaRecover(signature: Uint8Array, bit: number, digest: Uint8Array, compressed: boolean): Uint8Array
}

/** libsecp256k1, 60 µs a key: of an optional package, which has addons for some machines. */
async function addon(): Promise<Recover> {
  // Its main file would turn to arithmetic in JavaScript where the addon is missing. The name is no literal to the
  // compiler, so that neither types nor bundle ask for a package that is not there.
  const bindings: string = 'secp256k1/bindings.js'
  const { default: curve } = (await import(bindings)) as { default: Addon }
  return (digest, signature, bit) => curve.ecdsaRecover(signature, bit, digest, false)
}

/** libsecp256k1, 250 µs a key: its WebAssembly is a file beside the bundle. */
async function wasm(): Promise<Recover> {
  const { recover } = await import('tiny-secp256k1')
  return (digest, signature, bit) => recover(digest, signature, bit, false)
}

/** 1,700 µs a key. It is all that the bundle for desktop assistants has, which carries no binary file. */
async function script(): Promise<Recover> {
  const { secp256k1 } = await import('@noble/curves/secp256k1')
  return (digest, signature, bit) =>
    secp256k1.Signature.fromCompact(signature).addRecoveryBit(bit).recoverPublicKey(digest).toRawBytes(false)
}

/** Each throws at what is nobody's signature. Lengths and bit are right by then, so it has no other reason to. */
const recoveryBy = (by: KeyRecovery['by'], recover: Recover): KeyRecovery => ({
  by,
  keyOf(digest, signature, bit) {
    try {
      return recover(digest, signature, bit)
    } catch {
      return null
    }
  },
})

/** The hash that Ethereum uses, of which Node has only the later standard: 32 bytes. */
type Keccak256 = (bytes: Uint8Array) => Uint8Array

/** As WebAssembly, which is in the code: 2 µs for a sign-in message, where JavaScript takes 20. */
export const loadKeccak256: () => Promise<Keccak256> = onceLoaded(async () => {
  const { createKeccak } = await import('hash-wasm')
  const hasher = await createKeccak(256)
  return bytes => hasher.init().update(bytes).digest('binary')
})
