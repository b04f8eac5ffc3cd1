import type { DocumentKind } from './document-kind.ts'

export interface DocumentTask {
  bytes: Uint8Array
  kind: DocumentKind
}

export type DocumentAnswer =
  | { text: string }
  /** The document is at fault. */
  | { unread: string }
  /** A package does not load. */
  | { missing: string }
