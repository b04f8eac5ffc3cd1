/** How long FFmpeg may take to load and say what it can do; 0.2 s on an idle machine. */
export const findMs = 20_000
