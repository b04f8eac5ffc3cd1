/** Where finished media lie. Names are ours alone; nothing of a caller ever becomes a path. */
export interface MediaStore {
  /** Takes a file over, whole or not at all. Taking the same name again replaces it. */
  take(path: string, name: string): Promise<StoredMedia>
  find(name: string): Promise<StoredMedia | null>
  /** Deleting what is not there is fine. */
  delete(name: string): Promise<void>
}

export interface StoredMedia {
  path: string
  bytes: number
}
