/** Whether the host of a URL, as `URL.hostname` writes it, is this machine by its name: only there plain http is no risk. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
