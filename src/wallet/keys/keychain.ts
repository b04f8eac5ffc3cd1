import { WalletRefusal } from '../terms/refusal.ts'

/** The system's store for the user's secrets: Keychain, Credential Manager, or a desktop's Secret Service. */
export interface Keychain {
  /** Returns null if there is no secret with this name. */
  read(name: string): Promise<string | null>
  /** Throws if the secret could not be stored. */
  write(name: string, secret: string): Promise<void>
}

/** What the system shows as the owner of the entry. */
const service = 'farebox'

interface Entry {
  getPassword(): Promise<string | null>
  setPassword(secret: string): Promise<void>
}

/** The part of the library that we use. */
interface Keyring {
  AsyncEntry: new (service: string, name: string, options: { linux: { store: never } }) => Entry
}

/**
 * Opens the system's keychain; every failure is a refusal that says what to do instead, and never contains the secret.
 */
export async function systemKeychain(
  load: () => Promise<Keyring> = () => import('@napi-rs/keyring'),
): Promise<Keychain> {
  const { AsyncEntry } = await load().catch(() => {
    throw refusal(
      'The package @napi-rs/keyring is not installed, so the system keychain cannot be used.',
      'If you installed farebox with npm, run `npm install @napi-rs/keyring`. In a desktop assistant’s extension, fill in "Wallet key" in its settings, which the assistant stores in the keychain, or give a file with the passphrase.',
    )
  })
  // On Linux the library would otherwise fall back to the kernel's keyring, which is lost at reboot.
  const options = { linux: { store: 'secret-service' as never } }
  const ask = async <Result>(name: string, use: (entry: Entry) => Promise<Result>): Promise<Result> => {
    try {
      return await use(new AsyncEntry(service, name, options))
    } catch {
      // Without the library's message, which may repeat its input.
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
