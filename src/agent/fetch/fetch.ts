export type Fetch = typeof globalThis.fetch

/** Says on an answer 402 why the wallet did not pay. */
export const refusalHeader = 'x-farebox-refusal'
