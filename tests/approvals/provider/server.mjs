// A certified provider of OpenID Connect, with any password and the groups that a test wants: node server.mjs PORT CALLBACK
import { Provider } from 'oidc-provider';

const [port, callback] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const groups = { ana: ['hr'], eve: ['it'] };

const provider = new Provider(issuer, {
    clients: [
        {
            client_id: 'rosterd',
            client_secret: 's+e c:ret',
            redirect_uris: [callback],
            grant_types: ['authorization_code'],
            response_types: ['code'],
            token_endpoint_auth_method: 'client_secret_basic',
        },
    ],
    claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'], profile: ['name'] },
    // The claims are in the ID token, as most providers have them.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_, id) => ({
        accountId: id,
        claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, name: id, groups: groups[id] ?? [] }),
    }),
    cookies: { keys: ['a key of this test'] },
});
provider.listen(Number(port), '127.0.0.1', () => console.log(`listening on ${issuer}`));
