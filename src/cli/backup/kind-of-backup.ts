import { open } from 'node:fs/promises'

/** How a file of each kind begins: `pg_dump`'s own format, and SQLite's. */
const beginnings = { postgres: 'PGDMP', sqlite: 'SQLite format 3\0' } as const

/** Which books a backup is of, by its first bytes; null where it is of neither. */
export async function kindOfBackup(path: string): Promise<keyof typeof beginnings | null> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0)
    const start = buffer.toString('latin1', 0, bytesRead)
    for (const kind of ['postgres', 'sqlite'] as const) if (start.startsWith(beginnings[kind])) return kind
    return null
  } finally {
    await file.close()
  }
}
