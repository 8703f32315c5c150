/** Who is logged in, kept in a signed cookie. */
export class SessionStore {
  constructor(private secret: string, private maxAgeSeconds = 3600) {}

  /** The user of this cookie, or null where the signature is wrong or it has expired. */
  read(cookie: string): string | null {
    const [user, expires, signature] = cookie.split(".");
    if (sign(`${user}.${expires}`, this.secret) !== signature) return null;
    return Number(expires) > Date.now() ? user : null;
  }

  write(user: string): string {
    const body = `${user}.${Date.now() + this.maxAgeSeconds * 1000}`;
    return `${body}.${sign(body, this.secret)}`;
  }
}
