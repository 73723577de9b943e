/** Returns the header for a token. It refuses one that can't be sent, because fetch's own error contains the token. */
export function authorization(token: string): string {
  if (!/^[\x20-\x7e]*$/.test(token)) {
    throw new TypeError("the token has a character that a header can't have, such as a line break");
  }
  return `Bearer ${token}`;
}
