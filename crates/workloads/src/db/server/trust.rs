//! Whether a server is the one that it says it is: which authorities count, and what of its certificate is asked.
//!
//! Authorities are those of the file that the address names, or of the machine's own bundle; this program brings none.
//! Where nothing is asked of the certificate its signature is not looked at either: whoever it belongs to would have
//! one.

use super::trouble::{Trouble, shown, speaker};
use crate::db::address::{Address, Host};
use crate::db::encryption::{Check, Encryption};
use crate::db::engines::Engine;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, KeyProvider, WebPkiSupportedAlgorithms, verify_tls12_signature,
    verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::SigningKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the machine's own bundle is: as the variable says that OpenSSL reads too, or where Debian, Red Hat, SUSE and
/// Alpine have it.
const VARIABLE: &str = "SSL_CERT_FILE";
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A bundle has a quarter of that.
const BYTES_MAX: u64 = 4 << 20;

/// What went wrong before a connection was encrypted.
#[derive(Debug, thiserror::Error)]
pub(in crate::db) enum TlsTrouble {
    /// The server does not encrypt.
    #[error("the server speaks no TLS\nhint: {}", encrypts(*.0))]
    Absent(Engine),
    /// The file of authorities is of no use.
    #[error(
        "read the certificates of authorities in `{path}`: {why}\nhint: a file of certificates in PEM belongs there"
    )]
    Authorities { path: String, why: String },
    /// There is none.
    #[error(
        "this machine has no certificates of authorities (looked in {places})\n\
         hint: `apt-get install ca-certificates`, or name a file of them in the address: `{0}=FILE`",
        places = BUNDLES.join(", ")
    )]
    NoAuthorities(&'static str),
    /// The server is not whom it should be.
    #[error("the server's certificate {0}")]
    Certificate(String),
    /// The two did not agree.
    #[error("the TLS handshake failed: {0}")]
    Handshake(String),
    /// The server did not go on.
    #[error("the server ended the connection during the TLS handshake\nhint: {}", encrypts(*.0))]
    Ended(Engine),
    /// The server was too slow.
    #[error("the TLS handshake did not end in time\nhint: {}", encrypts(*.0))]
    Slow(Engine),
}

impl TlsTrouble {
    /// Whether another try a moment later would come to the same.
    pub(super) const fn is_lasting(&self) -> bool {
        !matches!(self, Self::Handshake(_) | Self::Ended(_) | Self::Slow(_))
    }
}

impl From<TlsTrouble> for Trouble {
    fn from(trouble: TlsTrouble) -> Self {
        Self::Tls(Box::new(trouble))
    }
}

/// What makes a server encrypt.
const fn encrypts(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "see `ssl` of postgresql.conf, or leave `sslmode` out of the address",
        Engine::Mysql => {
            "see `ssl_cert` and `ssl_key` of the server, or leave `ssl-mode` out of the address"
        }
        Engine::Redis => "see `tls-port` of the server, and name that port, or `redis://`",
    }
}

/// The parameter that names authorities, and what asks less of a certificate.
const fn words(engine: Engine) -> (&'static str, &'static str) {
    match engine {
        Engine::Postgres => (
            "sslrootcert",
            "`sslmode=verify-ca` asks for the authority alone",
        ),
        Engine::Mysql => (
            "ssl-ca",
            "`ssl-mode=VERIFY_CA` asks for the authority alone",
        ),
        Engine::Redis => ("cacert", "`insecure` asks nothing of it"),
    }
}

/// How to shake hands, and where the authorities are that count.
pub(super) type Trust = (Arc<ClientConfig>, String);

/// What was made in this process: a bundle has some hundred certificates, and each client of a round asks for it.
static MADE: Mutex<Vec<(Encryption, Trust)>> = Mutex::new(Vec::new());

/// What an address asks for, made once.
pub(super) fn config(engine: Engine, asked: &Encryption) -> Result<Trust, TlsTrouble> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, own)) = made.iter().find(|(own, _)| own == asked) {
        return Ok(own.clone());
    }
    let own = make(engine, asked)?;
    made.push((asked.clone(), own.clone()));
    Ok(own)
}

fn make(engine: Engine, asked: &Encryption) -> Result<Trust, TlsTrouble> {
    let provider = CryptoProvider {
        key_provider: &NoKeys,
        ..rustls::crypto::ring::default_provider()
    };
    let (roots, path) = match asked.check {
        Check::Nothing => (None, String::new()),
        Check::Authority | Check::Name => {
            let path = bundle(asked.authorities.as_deref());
            let path = path.ok_or(TlsTrouble::NoAuthorities(words(engine).0))?;
            (Some(roots(&path)?), path.display().to_string())
        }
    };
    let verifier = Verifier {
        check: asked.check,
        roots,
        algorithms: provider.signature_verification_algorithms,
    };
    let config = with_versions(provider)
        .map_err(|error| TlsTrouble::Handshake(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = config.with_no_client_auth();
    // Every connection is a login of its own.
    config.resumption = Resumption::disabled();
    Ok((Arc::new(config), path))
}

fn with_versions(
    provider: CryptoProvider,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, Error> {
    ClientConfig::builder_with_provider(Arc::new(provider)).with_safe_default_protocol_versions()
}

/// The file of authorities: the one that was named, or the machine's own.
fn bundle(named: Option<&Path>) -> Option<PathBuf> {
    let of_variable = || std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
    let usual = || {
        let mut all = BUNDLES.iter().map(Path::new);
        all.find(|path| path.exists()).map(Path::to_owned)
    };
    let named = named.map(Path::to_owned);
    named
        .or_else(|| of_variable().map(PathBuf::from))
        .or_else(usual)
}

pub(super) fn roots(path: &Path) -> Result<RootCertStore, TlsTrouble> {
    let refused = |why: String| TlsTrouble::Authorities {
        path: path.display().to_string(),
        why,
    };
    // A worker has another directory.
    if !path.is_absolute() {
        return Err(refused("it is no absolute path".to_owned()));
    }
    let pem = read(path).map_err(|error| refused(error.to_string()))?;
    let mut found = Vec::new();
    for one in CertificateDer::pem_slice_iter(&pem) {
        found.push(one.map_err(|error| refused(shown(error.to_string().as_bytes())))?);
    }
    let mut roots = RootCertStore::empty();
    // One that is of no use among a hundred is passed over.
    roots.add_parsable_certificates(found);
    if roots.is_empty() {
        return Err(refused(
            "it holds no certificate that can be read".to_owned(),
        ));
    }
    Ok(roots)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe would be waited for.
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if metadata.len() > BYTES_MAX {
        return Err(io::Error::other(
            "it is too large for a list of authorities",
        ));
    }
    let mut pem = Vec::new();
    File::open(path)?.take(BYTES_MAX).read_to_end(&mut pem)?;
    Ok(pem)
}

/// We have no certificate to show, so that nothing of ours is ever signed: what would sign it is left out.
#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Err(Error::General("there are no keys of clients".to_owned()))
    }
}

/// What is asked of a certificate.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) check: Check,
    /// Where something is asked.
    pub(super) roots: Option<RootCertStore>,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let own = ParsedCertificate::try_from(own)?;
            let known = self.algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&own, roots, between, now, known)?;
            if self.check == Check::Name {
                verify_server_name(&own, name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.check == Check::Nothing {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls12_signature(message, own, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.check == Check::Nothing {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls13_signature(message, own, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// An error of the handshake with what helps; `authorities` is the file that counts, and `first` what the server said.
pub(super) fn told(to: &Address, authorities: &str, error: Error, first: &[u8]) -> TlsTrouble {
    let (parameter, less) = words(to.engine);
    let clock = "hint: renew it, or look at the clock of this machine";
    match error {
        Error::InvalidCertificate(why) => TlsTrouble::Certificate(match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("has expired\n{clock}")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("is not valid yet\n{clock}")
            }
            CertificateError::UnknownIssuer => format!(
                "is of no authority in `{authorities}`\n\
                 hint: name the file of its authority in the address: `{parameter}=FILE`"
            ),
            CertificateError::NotValidForName => is_of_others(to, "other servers", less),
            CertificateError::NotValidForNameContext { presented, .. } => {
                let names = match &presented[..] {
                    [] => "none (its Subject Alternative Name counts)".to_owned(),
                    names => shown(names.join(", ").as_bytes()),
                };
                is_of_others(to, &names, less)
            }
            other => format!(
                "is refused: {}\nhint: a server's own certificate is wanted, of X.509 version 3 and signed by the \
                 authority; not that of the authority itself",
                shown(other.to_string().as_bytes())
            ),
        }),
        Error::UnsupportedNameType => {
            TlsTrouble::Certificate("cannot be that of a host with such a name".to_owned())
        }
        Error::InvalidMessage(_) | Error::InappropriateMessage { .. } => {
            let kind = speaker(first).map(|kind| format!(": it is what {kind} says"));
            TlsTrouble::Handshake(format!(
                "what the server answered is no TLS{}\nhint: {}",
                kind.unwrap_or_default(),
                encrypts(to.engine)
            ))
        }
        other => TlsTrouble::Handshake(shown(other.to_string().as_bytes())),
    }
}

fn is_of_others(to: &Address, names: &str, less: &str) -> String {
    let host = match &to.host {
        Host::Name(host) => host.as_str(),
        Host::Socket(_) => "a socket",
    };
    format!(
        "is not that of `{host}`: it names {names}\nhint: name the server as its certificate does; {less}"
    )
}
