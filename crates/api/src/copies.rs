//! Structs of the API that are copies of what actors publish.
//!
//! Each field is declared once: it is the field of that name, or what stands behind it.

/// Declares structs, and how each is made of one of `smsc_proto`.
macro_rules! copies {
    ($(
        $(#[$about:meta])+
        pub struct $Name:ident from $Source:ty as $source:ident {
            $($(#[$of:meta])* pub $field:ident: $Type:ty $(= $value:expr)?,)+
        }
    )+) => {$(
        $(#[$about])+
        pub struct $Name {
            $($(#[$of])* pub $field: $Type,)+
        }

        impl From<$Source> for $Name {
            fn from($source: $Source) -> Self {
                // Before anything is moved: the getter of an enum borrows all of it.
                $($(let $field: $Type = $value;)?)+
                Self {
                    $($field: copies!(@ $source $field $($value)?),)+
                }
            }
        }
    )+};
    (@ $source:ident $field:ident) => { $source.$field };
    (@ $source:ident $field:ident $value:expr) => {{ $field }};
}
pub(crate) use copies;
