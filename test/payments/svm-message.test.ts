/** Bytes of a Solana transaction, one by one: what is one transaction or one message, and what is nearly one. */
import { describe, expect, test } from 'vitest'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { readMessage, readTransaction } from '#payments/solana/solana-message.ts'

/** An address, or a blockhash. */
const words = (byte: number) => Array<number>(32).fill(byte)
const text = (byte: number) => encodeBase58(Uint8Array.from(words(byte)))

/** Two signers, one of whom is only read, and one other account; one instruction of the third, which names the second. */
const header = [2, 1, 1]
const accounts = [3, ...words(1), ...words(2), ...words(3)]
const blockhash = words(9)
const instruction = [2, 1, 1, 2, 7, 8]
const legacy = [...header, ...accounts, ...blockhash, 1, ...instruction]
const version0 = [0x80, ...legacy, 0]
const read = {
  ...{ signers: 2, accounts: [text(1), text(2), text(3)], blockhash: text(9), lookupTables: 0 },
  instructions: [{ program: 2, accounts: [1], data: Uint8Array.of(7, 8) }],
}

describe('a message', () => {
  test.each([
    ['of the older form', legacy, read],
    ['of version 0', version0, read],
    ['with a lookup table', [...version0.slice(0, -1), 1, ...words(5), 1, 4, 2, 5, 6], { ...read, lookupTables: 1 }],
    ['whose signers are all written to', [2, 0, 1, ...legacy.slice(3)], read],
    ['whose accounts are all signers', [3, 1, 0, ...legacy.slice(3)], { ...read, signers: 3 }],
    ['with no instruction', [...header, ...accounts, ...blockhash, 0], { ...read, instructions: [] }],
  ])('%s is read', (_rule, bytes, message) => {
    expect(readMessage(Uint8Array.from(bytes))).toEqual(message)
  })

  test.each([
    ['of no bytes', []],
    ['of version 1', [0x81, ...version0.slice(1)]],
    ['none of whose signers is written to', [2, 2, 1, ...legacy.slice(3)]],
    ['with more signers read than there are', [2, 3, 0, ...legacy.slice(3)]],
    ['with more signers than accounts', [4, 1, 0, ...legacy.slice(3)]],
    ['with more accounts that are read than there are', [2, 1, 2, ...legacy.slice(3)]],
    ['with a byte after it', [...legacy, 0]],
    ['with a byte after it, of version 0', [...version0, 0]],
    ['without its lookup tables', version0.slice(0, -1)],
    ['of the older form with lookup tables', [...legacy, 1, ...words(5), 0, 0]],
    ['that counts one instruction more than it has', [...header, ...accounts, ...blockhash, 2, ...instruction]],
    ['that counts one account fewer than it has', [...header, 2, ...legacy.slice(4)]],
  ])('%s is not one', (_rule, bytes) => {
    expect(readMessage(Uint8Array.from(bytes))).toBeNull()
  })

  test('that is cut off is not one, wherever it ends', () => {
    for (let length = 0; length < version0.length; length++) {
      expect(readMessage(Uint8Array.from(version0.slice(0, length))), `${length} bytes`).toBeNull()
    }
  })
})

describe('a count', () => {
  /** A message with that many bytes of data, whose count is written like this. */
  const counted = (count: number[], bytes: number) =>
    readMessage(Uint8Array.from([...header, ...accounts, ...blockhash, 1, 2, 0, ...count, ...Array(bytes).fill(7)]))

  test.each([
    [[0x00], 0],
    [[0x7f], 127],
    [[0x80, 0x01], 128],
    [[0xff, 0x01], 255],
    [[0x80, 0x7f], 16_256],
    [[0xff, 0x7f], 16_383],
    [[0x80, 0x80, 0x01], 16_384],
    [[0xff, 0xff, 0x03], 65_535],
  ])('%j is %d', (count, bytes) => {
    expect(counted(count, bytes)?.instructions[0]?.data).toHaveLength(bytes)
  })

  test.each([
    ['one that is written longer than it needs', [0x80, 0x00], 0],
    ['one of three bytes where two do', [0xff, 0x80, 0x00], 127],
    ['one above 65,535', [0x80, 0x80, 0x04], 65_536],
    ['one of four bytes', [0x80, 0x80, 0x80, 0x01], 2_097_152],
    ['one without an end', [0x80, 0x80], 0],
  ])('%s is not one', (_rule, count, bytes) => {
    expect(counted(count, bytes)).toBeNull()
  })
})

describe('a transaction', () => {
  const signatures = (count: number) => [count, ...Array<number>(64 * count).fill(6)]

  test('is its signatures, and the rest is what they sign', () => {
    const transaction = readTransaction(Uint8Array.from([...signatures(2), ...legacy]))
    expect(transaction?.signatures).toEqual(Array(2).fill(Uint8Array.from(Array(64).fill(6))))
    expect(transaction?.message).toEqual(Uint8Array.from(legacy))
  })

  test.each([
    ['of 1,232 bytes', 1_232 - 65, true],
    ['of one byte more', 1_232 - 64, false],
  ])('%s is one: %j', (_rule, messageBytes, isOne) => {
    const bytes = Uint8Array.from([...signatures(1), ...Array<number>(messageBytes).fill(0)])
    expect(readTransaction(bytes) !== null).toBe(isOne)
  })

  test('that counts a signature more than it has is not one', () => {
    expect(readTransaction(Uint8Array.from([3, ...signatures(2).slice(1)]))).toBeNull()
  })
})
