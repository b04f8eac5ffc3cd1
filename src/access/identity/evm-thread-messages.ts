/** What travels between the verifier and one of its threads: one question at a time. */
export interface RecoverRequest {
  message: string
  signature: string
}

export interface RecoverAnswer {
  /** In lower case; null where nobody can have signed that. */
  signer: string | null
}
