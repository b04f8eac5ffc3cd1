import { onceLoaded } from './packages.ts'

/** Recovers the key that made a signature on the curve secp256k1. */
export interface KeyRecovery {
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
