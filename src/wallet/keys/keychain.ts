import { WalletRefusal } from '../terms/refusal.ts'

/** Where the system keeps secrets of its user: Keychain, Credential Manager, or the Secret Service of a desktop. */
export interface Keychain {
  /** Null where there is none of this name. */
  read(name: string): Promise<string | null>
  /** Throws where it could not be kept. */
  write(name: string, secret: string): Promise<void>
}

/** What the system shows as the owner of the entry. */
const service = 'farebox'

interface Entry {
  getPassword(): Promise<string | null>
  setPassword(secret: string): Promise<void>
}

/** What of the library is used. */
interface Keyring {
  AsyncEntry: new (service: string, name: string, options: { linux: { store: never } }) => Entry
}

/** The system's keychain; every failure is a refusal that says what to do instead, and never what was to be kept. */
export async function systemKeychain(
  load: () => Promise<Keyring> = () => import('@napi-rs/keyring'),
): Promise<Keychain> {
  const { AsyncEntry } = await load().catch(() => {
    throw refusal(
      'The package @napi-rs/keyring is not installed, so the system keychain cannot be used.',
      'If you installed farebox with npm, run `npm install @napi-rs/keyring`. In a desktop assistant’s extension, fill in "Wallet key" in its settings, which the assistant stores in the keychain, or give a file with the passphrase.',
    )
  })
  // On Linux the library would fall back on the kernel's keyring, which forgets at the next start of the machine.
  const options = { linux: { store: 'secret-service' as never } }
  const ask = async <Result>(name: string, question: (entry: Entry) => Promise<Result>): Promise<Result> => {
    try {
      return await question(new AsyncEntry(service, name, options))
    } catch {
      // Without the library's words: they may repeat what they were given.
      throw refusal(
        'The system keychain is missing or locked.',
        'Unlock it in your desktop session. On a server without one, unlock the wallet with `--passphrase-file` or a systemd credential.',
      )
    }
  }
  return {
    read: name => ask(name, entry => entry.getPassword()),
    write: (name, secret) => ask(name, entry => entry.setPassword(secret)),
  }
}

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'key', sentence, nextStep })
