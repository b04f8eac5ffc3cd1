import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets, rotateFolderSecret } from '#cli/data/folder-secrets.ts'
import { noteLedgerPlace } from '#cli/data/ledger-place.ts'
import { finishPart } from '#client/download/part-file.ts'
import { writeWhole } from '#ledger/store/sqlite/backup.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { FolderMediaStore } from '#media/media-store.ts'
import { ensurePrivateFolder, replacePrivateFile, writeNewPrivateFile } from '#wallet/private-file.ts'

/** One file outside of the database that must survive a loss of power, and the product's own way to write it. */
interface KeptFile {
  /** The folder whose changes are recorded, below the test's folder. */
  followed: string
  /** In the followed folder. */
  name: string
  /** Resolves once the file counts as written. */
  write(root: string): Promise<unknown>
}

const inService = (name: string, write: KeptFile['write']): KeptFile => ({ followed: 'service', name, write })

export const keptFiles: Readonly<Record<string, KeptFile>> = {
  'the secret of a new service': inService('secret', root => folderSecrets(dataFolder(root))),
  'the secret of a service, rotated': inService('secret', async root => {
    await folderSecrets(dataFolder(root))
    await rotateFolderSecret(dataFolder(root))
  }),
  'the note that the ledger is in PostgreSQL': inService('ledger-in-postgresql', root =>
    noteLedgerPlace(dataFolder(root), { engine: 'postgres', url: 'postgres://one@db.example/two' }),
  ),
  'the folder of a new service': {
    followed: '',
    name: 'service',
    write: async root => (await openSqliteStore({ path: dataFolder(root).database })).close(),
  },
  'the video of a finished job': {
    followed: 'media',
    name: 'one.mp4',
    async write(root) {
      const drawn = join(root, 'media', 'drawn')
      await writeFile(drawn, 'x'.repeat(100_000))
      await new FolderMediaStore(join(root, 'media')).take(drawn, 'one.mp4')
    },
  },
  'a backup': {
    followed: 'backups',
    name: 'books.db',
    write: root => writeWhole(join(root, 'backups', 'books.db'), part => writeFile(part, 'x'.repeat(100_000))),
  },
  'a new key of the wallet': {
    followed: 'agent',
    name: 'wallet.json',
    write: async root => writeNewPrivateFile(join(root, 'agent'), 'wallet.json', 'an encrypted key'),
  },
  'a note of the wallet, replaced': {
    followed: 'agent',
    name: 'note',
    async write(root) {
      writeNewPrivateFile(join(root, 'agent'), 'note', 'before')
      replacePrivateFile(join(root, 'agent'), 'note', 'after')
    },
  },
  'the folder of a new wallet': {
    followed: '',
    name: 'agent',
    write: async root => ensurePrivateFolder(join(root, 'agent')),
  },
  'a saved file of an assistant': {
    followed: 'output',
    name: 'image.png',
    async write(root) {
      const part = join(root, 'output', 'image.part')
      const { appendTo } = await import('#client/download/part-file.ts')
      const pieces = (async function* () {
        yield new Uint8Array(100_000).fill(7)
      })()
      await appendTo(part, pieces, { from: 0, maximumBytes: 1_000_000 })
      await finishPart(part, join(root, 'output', 'image.png'))
    },
  },
}
