/** A file that is printed from another fact of the repository. `make` is pure: the same sources give the same text. */
export interface Generator {
  /** From the root of the repository. */
  path: string
  make(): Promise<string>
}
