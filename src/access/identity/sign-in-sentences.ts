import type { SignInCode } from '#contract/wire/sign-in.ts'

/** What went wrong with a sign-in and what to do, by its code (published contract §2.5). */
const sentences: Record<SignInCode, string> = {
  X402_SIGN_IN_INVALID_PAYLOAD: 'The sign-in header is not base64 of a JSON object; encode the payload again.',
  X402_SIGN_IN_PARSE_ERROR: 'The sign-in payload lacks a member or has one of another type; build it as documented.',
  X402_SIGN_IN_INVALID_MESSAGE: 'The signed message is no EIP-4361 message in its exact form; build it again.',
  X402_SIGN_IN_ADDRESS_MISMATCH: 'The payload and the signed message name different addresses; send the signed one.',
  X402_SIGN_IN_INVALID_CHAIN_ID: 'The chain id of the sign-in cannot be read; use a CAIP-2 one such as eip155:8453.',
  X402_SIGN_IN_CHAIN_MISMATCH: 'The payload and the signed message name different chains; send the signed one.',
  X402_SIGN_IN_UNSUPPORTED_CHAIN:
    'Sign in on eip155:8453 or on Solana mainnet; the signed message names another chain.',
  X402_SIGN_IN_MISSING_NONCE: 'The signed message has no usable nonce; use 16 random hexadecimal characters.',
  X402_SIGN_IN_DOMAIN_MISMATCH: 'The signed message is for another site; sign the domain and URI of this service.',
  X402_SIGN_IN_TIMESTAMP_MISMATCH: 'The timestamp is more than 30 s from the signed Issued At; send that one or none.',
  X402_SIGN_IN_EXPIRED: 'The sign-in has expired; sign a new message.',
  X402_SIGN_IN_FUTURE_TIMESTAMP: 'The signed Issued At lies in the future; correct the clock and sign a new message.',
  X402_SIGN_IN_NOT_BEFORE: 'The sign-in is not valid yet; wait until its Not Before, or sign a new message.',
  X402_SIGN_IN_INVALID_SIGNATURE: 'Invalid Sign-in-with-x signature',
  X402_SIGN_IN_INVALID_WALLET: 'The address of the sign-in is no wallet that can sign; use another one.',
  X402_SIGN_IN_NONCE_REUSED: 'The sign-in was used before; sign a new message with a fresh nonce.',
}

export const signInSentence = (code: SignInCode): string => sentences[code]
