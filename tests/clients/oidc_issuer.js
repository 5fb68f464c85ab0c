// An issuer of OpenID Connect (npm's oidc-provider) with one client, where anybody signs in by a name.
//
// usage: oidc_issuer.js PORT CLIENT-ID CLIENT-SECRET REDIRECT-URL
//
// The name says who it is: `NAME` has no groups, `NAME:GROUP,GROUP` has these. The groups are in userinfo, as they are at
// many issuers. A secret of "-" makes a public client. Prints {"event": "listening"}.

'use strict';

const { Provider } = require('oidc-provider');
const { report } = require('./common.js');

const [port, clientId, clientSecret, redirectUri] = process.argv.slice(2);
const isPublic = clientSecret === '-';

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: clientId,
    ...(isPublic ? { token_endpoint_auth_method: 'none' } : { client_secret: clientSecret }),
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code'],
    response_types: ['code'],
  }],
  // Whoever comes with the name that this claim has.
  claims: { openid: ['sub'], profile: ['preferred_username', 'groups'] },
  pkce: { required: () => true },
  cookies: { keys: ['a key of the tests'] },
  features: { devInteractions: { enabled: true } },
  async findAccount(ctx, id) {
    const [name, groups] = id.split(':');
    return {
      accountId: id,
      claims: async () => ({
        sub: id,
        preferred_username: name,
        ...(groups === undefined ? {} : { groups: groups.split(',') }),
      }),
    };
  },
});

provider.listen(Number(port), '127.0.0.1', () => report('listening', {}));
