/** What becomes of a call whose price nobody can know beforehand: a person is asked, or payments' caps alone bound it. */
export type UnpricedCalls = 'ask' | 'allow'
