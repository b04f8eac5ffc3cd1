import { CliError } from '../cli-error.ts'

/** A sentence for the refusals that a person can mend; others as they are. */
export function listenFailure(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new CliError(`Port ${port} is taken.`, 'Stop what listens there, or set another in `listen`.')
  if (code === 'EACCES') return new CliError(`Port ${port} is not for this user.`, 'Set one from 1024 on in `listen`.')
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new CliError(`This machine has no address ${host}.`, 'Set one that it has in `listen`, such as 127.0.0.1.')
  }
  return error
}
