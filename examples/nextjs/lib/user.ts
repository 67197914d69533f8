/** The id of the signed-in user, from your authentication. This one lets everybody in as the same user. */
export async function currentUser(): Promise<string> {
  return "ada";
}
